import { type ChildProcess, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { open, rm } from 'node:fs/promises';
import path from 'node:path';
import { spawn } from '../child-processes.js';

/** Whether this machine lets any user mount a file system. Most containers do not allow it. */
export const canMountDisk =
  spawnSync('unshare', ['--map-root-user', '--mount', 'true']).status === 0;

/**
 * A small file system in memory that a test can fill. It is mounted in the namespace of a child
 * process. See `canMountDisk`.
 */
export class SmallDisk {
  /** The path of the disk for every process of this user. It works while the child is running. */
  readonly folder: string;
  readonly #child: ChildProcess;

  /**
   * @param ofRoot Whether root mounts the disk, so that its files can belong to other users.
   * Requires root.
   */
  static async mount(megabytes: number, ofRoot = false): Promise<SmallDisk> {
    const mount = `mount -t tmpfs -o size=${megabytes}m tmpfs /mnt && echo mounted && exec sleep infinity`;
    const user = ofRoot ? [] : ['--map-root-user'];
    const child = spawn('unshare', [...user, '--mount', 'sh', '-c', mount], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const isMounted = await Promise.race([
      once(child.stdout, 'data').then(() => true),
      once(child, 'close').then(() => false),
      once(child, 'error').then(() => false),
    ]);
    if (!isMounted) throw new Error('This machine does not allow a mount: see `canMountDisk`');
    return new SmallDisk(child);
  }

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.folder = `/proc/${child.pid}/root/mnt`;
  }

  /**
   * Writes until the disk is full. Tries again for a moment, because other processes may delete
   * files at the same time.
   *
   * @param leave The number of bytes to leave free.
   */
  async fill(leave = 0): Promise<void> {
    const file = await open(path.join(this.folder, 'filler'), 'a');
    try {
      for (const size of [1 << 20, 1 << 12, 1])
        for (let isFull = false; !isFull; )
          isFull = await file.write(Buffer.alloc(size)).then(
            ({ bytesWritten }) => bytesWritten < size,
            error => {
              if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return true;
              throw error;
            },
          );
      const { size } = await file.stat();
      if (leave > 0) await file.truncate(Math.max(0, size - leave));
    } finally {
      await file.close();
    }
  }

  /** The start of a command line for processes that see the disk as `/mnt`. */
  get inside(): string[] {
    return ['nsenter', '-t', String(this.#child.pid), '-m'];
  }

  async free(): Promise<void> {
    await rm(path.join(this.folder, 'filler'), { force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return;
    const closed = once(this.#child, 'close');
    this.#child.kill('SIGKILL');
    await closed;
  }
}
