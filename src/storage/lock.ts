import { randomUUID } from 'node:crypto';
import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { isNodeError, StorageError } from '../base/errors.js';
import { type ProcessIdentity, processState, thisProcess } from '../base/process-identity.js';
import {
  type FileSystem,
  nodeFileSystem,
  type OpenFile,
  readIfThere,
  statusOf,
  unlinkIfThere,
  writeAll,
} from './file-system.js';
import { storageError, withStorageError } from './storage-error.js';

export interface Lock {
  /**
   * Checks that this process still holds the lock. Throws a StorageError if the lock file is gone. Also throws
   * if another process has taken over the lock, because this process was suspended for too long.
   */
  check(): Promise<void>;
  release(): Promise<void>;
}

export interface LockOptions {
  /**
   * The message of the error that is thrown if another process holds the lock.
   * @default `Another run holds <file>`
   */
  readonly refusal?: string | undefined;
  readonly fs?: FileSystem | undefined;
}

interface Holder extends ProcessIdentity {
  readonly token: string;
}

/**
 * The tokens of the locks that this process holds. A lock file with the pid of this process does not prove
 * that this process holds the lock, because an earlier process may have had the same pid.
 */
const held = new Set<string>();

const HEARTBEAT_MS = 2_000;
/**
 * The age of a lock file in milliseconds after which its holder counts as dead. Used only if it cannot be
 * checked whether the holder's process is running.
 */
const SILENT_MS = 10_000;
const MAX_POLL_MS = 250;
/**
 * The maximum number of nested recovery locks. A process may be killed while it holds a recovery lock. To
 * remove that stale recovery lock, the next process needs another one.
 */
const MAX_RECOVERY_DEPTH = 5;

/**
 * Takes the lock at a path, or throws if another process holds it. Takes over the lock of a killed process.
 * If this process can check that the holder is dead, it takes over immediately. Otherwise, it waits until
 * nothing has been written to the lock file for 10 s.
 *
 * @throws StorageError
 */
export async function takeLock(
  file: string,
  { refusal = `Another run holds ${file}`, fs = nodeFileSystem }: LockOptions = {},
): Promise<Lock> {
  const token = randomUUID();
  const text = Buffer.from(`${JSON.stringify({ ...thisProcess(), token })}\n`);
  held.add(token);
  let handle: OpenFile | undefined;
  try {
    handle = await create(fs, file, text);
    while (handle === undefined) {
      await removeStale(fs, file, refusal);
      handle = await create(fs, file, text);
    }
  } catch (error) {
    held.delete(token);
    throw storageError('lock', file, error);
  }
  const stopBeating = startHeartbeat(handle, text);
  return {
    check: () =>
      withStorageError('check the lock', file, async () => {
        const text = await readIfThere(fs, file);
        if (holderIn(text)?.token === token) return;
        throw new StorageError(
          text === undefined
            ? `${file} is gone: it or its folder was deleted, or another process took it over and has ended. Another run may have written meanwhile, so this one ends. Run again, and leave the file there until the run ends`
            : `Another process took ${file} over, because this one did not write to it for ${SILENT_MS / 1000} s. Run again once the other has ended`,
          { path: file, retryable: true },
        );
      }),
    release: () =>
      withStorageError('unlock', file, async () => {
        try {
          await stopBeating();
          await removeOldRecoveryLocks(fs, file);
          if (holderIn(await readIfThere(fs, file))?.token === token) await unlinkIfThere(fs, file);
        } finally {
          held.delete(token);
        }
      }),
  };
}

/**
 * Returns the path of a lock's recovery lock. Only the holder of the recovery lock may remove the lock of a
 * dead process.
 */
export function recoveryLockPath(file: string): string {
  return `${file}.old`;
}

async function create(
  fs: FileSystem,
  file: string,
  text: Uint8Array,
): Promise<OpenFile | undefined> {
  let handle: OpenFile;
  try {
    handle = await fs.open(file, 'wx', 0o600);
  } catch (error) {
    if (isNodeError(error, 'EEXIST')) return undefined;
    throw error;
  }
  try {
    await writeAll(handle, text, 0);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/**
 * Writes to the lock file periodically. Processes on other machines can tell from its modification time that
 * this process is running.
 */
function startHeartbeat(handle: OpenFile, text: Uint8Array): () => Promise<void> {
  let writing = Promise.resolve();
  const timer = setInterval(() => {
    writing = writing
      .then(async () => {
        await writeAll(handle, text, 0);
        await handle.datasync();
      })
      // This error can be ignored, because the next write of the run fails too if the disk is failing.
      .catch(() => {});
  }, HEARTBEAT_MS).unref();
  return async () => {
    clearInterval(timer);
    await writing;
    await handle.close();
  };
}

/**
 * Removes the lock of a dead process. Throws if the holder of the lock is alive. Only the holder of the
 * recovery lock may call this. Otherwise, a process could remove the lock that another process has just
 * taken.
 */
async function removeStale(fs: FileSystem, file: string, refusal: string): Promise<void> {
  const seen = await readIfThere(fs, file);
  if (seen === undefined) return;
  const holder = holderIn(seen);
  const life = holder === undefined ? 'unknown' : holderLife(holder);
  if (life === 'alive') throw inUse(file, refusal, holder);
  const recovery = await takeLock(recoveryLockPath(file), { refusal, fs });
  try {
    if (life === 'unknown' && !(await staysSilent(fs, file, seen))) {
      if ((await readIfThere(fs, file)) === seen) throw inUse(file, refusal, holder);
      return;
    }
    if ((await readIfThere(fs, file)) === seen) await unlinkIfThere(fs, file);
  } finally {
    await recovery.release();
  }
}

/**
 * Returns whether the holder of the lock must be dead: waits until the last write to the lock is `SILENT_MS`
 * old, and returns false if the lock changes before that. The age of that write is first computed from the
 * modification time of the new recovery lock, because both times come from the clock of the same disk.
 */
async function staysSilent(fs: FileSystem, file: string, seen: string): Promise<boolean> {
  const now = await statusOf(fs, recoveryLockPath(file));
  const before = await statusOf(fs, file);
  if (now === undefined || before === undefined) return false;
  let silentMs = Math.max(0, now.mtimeMs - before.mtimeMs);
  for (let pause = 5; ; pause = Math.min(2 * pause, MAX_POLL_MS)) {
    const text = await readIfThere(fs, file);
    const status = await statusOf(fs, file);
    if (text !== seen || status?.mtimeMs !== before.mtimeMs) return false;
    if (silentMs >= SILENT_MS) return true;
    await sleep(pause);
    silentMs += pause;
  }
}

/**
 * Removes recovery locks that dead processes have left. No process needs them while the lock itself is held.
 */
async function removeOldRecoveryLocks(fs: FileSystem, file: string): Promise<void> {
  let right = file;
  for (let level = 1; level <= MAX_RECOVERY_DEPTH; level++) {
    right = recoveryLockPath(right);
    const text = await readIfThere(fs, right);
    if (text === undefined) continue;
    const holder = holderIn(text);
    if (holder === undefined || holderLife(holder) !== 'alive') await unlinkIfThere(fs, right);
  }
}

function holderIn(text: string | undefined): Holder | undefined {
  try {
    const holder = JSON.parse(text ?? '') as Holder | null;
    return Number.isSafeInteger(holder?.pid) ? (holder as Holder) : undefined;
  } catch {
    return undefined;
  }
}

function holderLife(holder: Holder): 'alive' | 'dead' | 'unknown' {
  if (held.has(holder.token)) return 'alive';
  const life = processState(holder);
  // The lock has the pid of this process, but this thread has not taken it. If another thread took it, that
  // thread may have ended since.
  return life === 'alive' && holder.pid === process.pid ? 'unknown' : life;
}

function inUse(file: string, refusal: string, holder: Holder | undefined): StorageError {
  const where = holder === undefined || holder.host === os.hostname() ? '' : ` on ${holder.host}`;
  const who = holder === undefined ? 'an unknown process' : `process ${holder.pid}`;
  return new StorageError(
    `${refusal}: ${who}${where}. Wait until it ends; if there is no such process, delete ${file}.`,
    { path: file, retryable: true },
  );
}
