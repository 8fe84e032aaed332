import { AsyncLocalStorage } from 'node:async_hooks';
import fs from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { Readable } from 'node:stream';
import workerThreads, { type WorkerOptions } from 'node:worker_threads';
import type { OpenFile } from '../../src/storage/file-system.js';
import { nodeError, type SimulatedDisk, SimulatedFile } from './simulated-disk.js';
import { ThreadInPlace } from './thread-in-place.js';

/** The path of the simulated disk. It exists only within `onDisk`. */
export const MOUNT = '/simulated';

const mounted = new AsyncLocalStorage<SimulatedDisk>();

/**
 * Runs `work`. Until `work` ends, calls to `node:fs` and `node:fs/promises` below `MOUNT` go to
 * `disk`. Worker threads run in this thread, so that their calls go to `disk` as well.
 */
export function onDisk<T>(disk: SimulatedDisk, work: () => T): T {
  install();
  return mounted.run(disk, work);
}

/**
 * Returns all files of the current disk, by their path below `MOUNT`. Reading them never fails, and
 * does not count as a call.
 */
export function storedFiles(): ReadonlyMap<string, Buffer> {
  const disk = mounted.getStore();
  if (disk === undefined) throw new Error('Not within onDisk()');
  return new Map(disk.files().map(name => [name.slice(MOUNT.length + 1), disk.read(name)]));
}

function diskOf(file: unknown): SimulatedDisk | undefined {
  if (Buffer.isBuffer(file)) return diskOf(String(file));
  if (typeof file !== 'string') return undefined;
  return file === MOUNT || file.startsWith(`${MOUNT}/`) ? mounted.getStore() : undefined;
}

const ASYNC = {
  open: async (disk: SimulatedDisk, file: string, flags: string | number = 'r', mode?: number) => {
    const open = await disk.open(file, flags, mode);
    const node = disk.find(file);
    return node instanceof SimulatedFile ? new Handle(disk, file, node, open) : open;
  },
  readFile: async (disk: SimulatedDisk, file: string, encoding?: BufferEncoding) => {
    await disk.call('readFile', file);
    const { now } = disk.file(file, 'open');
    return encoding === undefined ? Buffer.from(now) : now.toString(encoding);
  },
  appendFile: async (disk: SimulatedDisk, file: string, data: string | Uint8Array) => {
    const handle = (await ASYNC.open(disk, file, 'a')) as Handle;
    try {
      await handle.appendFile(data);
    } finally {
      await handle.close();
    }
  },
  mkdir: async (disk: SimulatedDisk, folder: string, options?: { recursive?: boolean }) => {
    if (options?.recursive !== true) return disk.mkdir(folder);
    const missing: string[] = [];
    for (let at = folder; disk.find(at) === undefined; at = path.dirname(at)) missing.unshift(at);
    if (disk.find(folder) instanceof SimulatedFile) throw nodeError('EEXIST', `mkdir '${folder}'`);
    for (const one of missing) await disk.mkdir(one);
  },
  rmdir: (disk: SimulatedDisk, folder: string) => disk.rmdir(folder),
  rename: (disk: SimulatedDisk, from: string, to: string) => disk.rename(from, to),
  unlink: (disk: SimulatedDisk, file: string) => disk.unlink(file),
  lstat: (disk: SimulatedDisk, file: string) => disk.lstat(file),
  stat: (disk: SimulatedDisk, file: string) => disk.lstat(file),
  access: async (disk: SimulatedDisk, file: string) => {
    await disk.lstat(file);
  },
  realpath: async (disk: SimulatedDisk, file: string) => {
    await disk.lstat(file);
    return path.resolve(file);
  },
  mkdtemp: async (disk: SimulatedDisk, prefix: string) => {
    const folder = `${prefix}${Math.random().toString(36).slice(2, 8)}`;
    await disk.mkdir(folder);
    return folder;
  },
  readdir: async (
    disk: SimulatedDisk,
    given: string | Buffer,
    options: { recursive?: boolean; withFileTypes?: boolean; encoding?: string } = {},
  ): Promise<unknown[]> => {
    const folder = path.resolve(String(given));
    const named = (name: string) => (options.encoding === 'buffer' ? Buffer.from(name) : name);
    await disk.call('readdir', folder);
    const found: unknown[] = [];
    const list = (at: string) => {
      for (const [name, node] of disk.folder(at, 'readdir').now) {
        const isFile = node instanceof SimulatedFile;
        const types = { isFile: () => isFile, isDirectory: () => !isFile };
        const entry = { name: named(name), parentPath: at, ...types };
        found.push(options.withFileTypes ? entry : path.relative(folder, path.join(at, name)));
        if (options.recursive && !isFile) list(path.join(at, name));
      }
    };
    list(folder);
    return found;
  },
  rm: async (
    disk: SimulatedDisk,
    file: string,
    options: { recursive?: boolean; force?: boolean } = {},
  ): Promise<void> => {
    await disk.call('lstat', file);
    const node = disk.find(file);
    if (node === undefined && options.force) return;
    if (node === undefined) throw nodeError('ENOENT', `rm '${file}'`);
    if (node instanceof SimulatedFile) return disk.unlink(file);
    for (const name of node.now.keys()) await ASYNC.rm(disk, path.join(file, name), options);
    await disk.rmdir(file);
  },
};

const SYNC = {
  createReadStream: (
    disk: SimulatedDisk,
    file: string,
    { signal, highWaterMark = 65_536 }: { signal?: AbortSignal; highWaterMark?: number } = {},
  ) => Readable.from(blocksOf(disk, file, highWaterMark), { objectMode: false, signal }),
  existsSync: (disk: SimulatedDisk, file: string) => disk.find(file) !== undefined,
  openSync: (disk: SimulatedDisk, file: string) => {
    disk.callNow('open r', file);
    const fd = nextFd++;
    openFiles.set(fd, { disk, file, node: disk.file(file, 'open') });
    return fd;
  },
};

async function* blocksOf(
  disk: SimulatedDisk,
  file: string,
  size: number,
): AsyncGenerator<Buffer, void, undefined> {
  await disk.call('open r', file);
  yield* blocksFrom(disk, file, disk.file(file, 'open').now, size);
}

async function* blocksFrom(
  disk: SimulatedDisk,
  file: string,
  now: Buffer,
  size: number,
): AsyncGenerator<Buffer, void, undefined> {
  for (let at = 0; at < now.length; at += size) {
    await disk.call('read', file);
    yield Buffer.from(now.subarray(at, at + size));
  }
}

let nextFd = 2 ** 30;
interface OpenSimulated {
  readonly disk: SimulatedDisk;
  readonly file: string;
  readonly node: SimulatedFile;
}
const openFiles = new Map<number, OpenSimulated>();

class Handle implements OpenFile {
  readonly fd = nextFd++;
  readonly #disk: SimulatedDisk;
  readonly #file: string;
  readonly #node: SimulatedFile;
  readonly #open: OpenFile;
  #position = 0;

  constructor(disk: SimulatedDisk, file: string, node: SimulatedFile, open: OpenFile) {
    this.#disk = disk;
    this.#file = file;
    this.#node = node;
    this.#open = open;
    openFiles.set(this.fd, { disk, file, node });
  }

  async write(
    bytes: Uint8Array,
    offset = 0,
    length = bytes.length - offset,
    position: number | null = null,
  ): Promise<{ bytesWritten: number }> {
    const written = await this.#open.write(bytes, offset, length, position ?? this.#position);
    if (position === null) this.#position += written.bytesWritten;
    return written;
  }

  writev(chunks: readonly Uint8Array[], position: number): Promise<{ bytesWritten: number }> {
    return this.write(Buffer.concat(chunks), 0, undefined, position);
  }

  async writeFile(data: string | Uint8Array): Promise<void> {
    const bytes = Buffer.from(data as Uint8Array);
    for (let done = 0; done < bytes.length; ) done += (await this.write(bytes, done)).bytesWritten;
  }

  async appendFile(data: string | Uint8Array): Promise<void> {
    this.#position = this.#node.now.length;
    await this.writeFile(data);
  }

  async read(
    bytes: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ bytesRead: number; buffer: Uint8Array }> {
    await this.#disk.call('read', this.#file);
    const bytesRead = this.#node.now.copy(bytes, offset, position, position + length);
    return { bytesRead, buffer: bytes };
  }

  async readFile(): Promise<Buffer> {
    await this.#disk.call('read', this.#file);
    return Buffer.from(this.#node.now);
  }

  async stat(): Promise<{ size: number; mtimeMs: number; isFile(): boolean }> {
    await this.#disk.call('fstat', this.#file);
    return { size: this.#node.now.length, mtimeMs: this.#node.mtimeMs, isFile: () => true };
  }

  createReadStream({
    signal,
    highWaterMark = 65_536,
  }: {
    signal?: AbortSignal;
    highWaterMark?: number;
  } = {}): Readable {
    const blocks = blocksFrom(this.#disk, this.#file, this.#node.now, highWaterMark);
    return Readable.from(blocks, { objectMode: false, signal });
  }

  truncate(length: number): Promise<void> {
    return this.#open.truncate(length);
  }
  chmod(mode: number): Promise<void> {
    return this.#open.chmod(mode);
  }
  datasync(): Promise<void> {
    return this.#open.datasync();
  }
  sync(): Promise<void> {
    return this.#open.sync();
  }
  close(): Promise<void> {
    openFiles.delete(this.fd);
    return this.#open.close();
  }
}

let installed = false;

/** Replaces the functions of Node, even for modules that have already imported them. */
function install(): void {
  if (installed) return;
  installed = true;
  route(promises, ASYNC);
  route(fs, SYNC);
  const { readSync, closeSync, fstatSync, writeSync, writevSync } = fs;
  fs.readSync = ((fd: number, bytes: Uint8Array, offset: number, length: number, at: number) => {
    const open = openFiles.get(fd);
    if (open === undefined) return readSync(fd, bytes, offset, length, at);
    open.disk.callNow('read', open.file);
    return open.node.now.copy(bytes, offset, at, at + length);
  }) as typeof readSync;
  fs.closeSync = fd => {
    if (!openFiles.delete(fd)) closeSync(fd);
  };
  fs.fstatSync = ((fd: number) => {
    const open = openFiles.get(fd);
    if (open === undefined) return fstatSync(fd);
    open.disk.callNow('fstat', open.file);
    return { size: open.node.now.length, isFile: () => true };
  }) as typeof fstatSync;
  const write = (fd: number, bytes: Uint8Array, at: number) => {
    const { disk, file, node } = openFiles.get(fd) as OpenSimulated;
    return disk.write(file, node, bytes, at);
  };
  fs.writeSync = ((fd: number, bytes: Uint8Array, offset: number, length: number, at: number) =>
    openFiles.has(fd)
      ? write(fd, bytes.subarray(offset, offset + length), at)
      : writeSync(fd, bytes, offset, length, at)) as typeof writeSync;
  fs.writevSync = ((fd: number, chunks: readonly Uint8Array[], at: number) =>
    openFiles.has(fd)
      ? write(fd, Buffer.concat(chunks), at)
      : writevSync(fd, chunks, at)) as typeof writevSync;
  workerThreads.Worker = new Proxy(workerThreads.Worker, {
    construct: (Worker, [script, options]: [script: URL, options: WorkerOptions]) =>
      mounted.getStore() === undefined
        ? new Worker(script, options)
        : new ThreadInPlace(script, options.workerData),
  });
  syncBuiltinESMExports();
}

function route(
  target: object,
  calls: Readonly<Record<string, (disk: SimulatedDisk, file: string, ...rest: never[]) => unknown>>,
): void {
  const functions = target as Record<string, (...args: unknown[]) => unknown>;
  for (const [name, simulated] of Object.entries(calls)) {
    const real = functions[name] as (...args: unknown[]) => unknown;
    functions[name] = (...args) => {
      const disk = diskOf(args[0]);
      const [file, ...rest] = args;
      return disk === undefined
        ? real.apply(target, args)
        : simulated(disk, file as string, ...(rest as never[]));
    };
  }
}
