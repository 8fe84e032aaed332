import { constants, promises as fs, type PathLike } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { unchecked } from '../../unchecked.js';
import { watchThreads } from './watched-thread.js';

/**
 * Called before each call that changes a file below the watched folder; what it throws, the call rejects with, or throws
 * in a worker thread, which waits for a promise.
 */
export type OnDiskCall = (call: string, file: string, isInThread: boolean) => void | Promise<void>;

let watched: { readonly folder: string; readonly onCall: OnDiskCall } | undefined;
let isInstalled = false;

/**
 * Calls `onCall` before each call of `node:fs/promises` that changes something below `folder`, in this
 * process and for every module, and before each write of a worker thread that starts from then on. Returns what ends it.
 */
export async function watchDisk(folder: string, onCall: OnDiskCall): Promise<() => void> {
  if (!isInstalled) await install(folder);
  watched = { folder: path.resolve(folder), onCall };
  return () => {
    watched = undefined;
  };
}

function diskError(code: 'ENOSPC' | 'EIO', call: string, file: string): Error {
  const text = { ENOSPC: 'no space left on device', EIO: 'i/o error' }[code];
  return Object.assign(new Error(`${code}: ${text}, ${call} '${file}'`), { code, syscall: call });
}

/** A disk that is full or fails from a call on, until it is lifted. */
export interface FailingDisk {
  hits(): number;
  /** Whether the first call that failed was one of a worker thread. */
  isInThread(): boolean;
  /** The first call that failed. */
  what(): string;
  lift(): void;
}

/**
 * @param at The number of the call that changes a file below the folder, from 1 on.
 * @param ofThreads Counts only the writes of worker threads.
 */
export async function failDisk(
  folder: string,
  code: 'ENOSPC' | 'EIO',
  at: number,
  { ofThreads = false } = {},
): Promise<FailingDisk> {
  let calls = 0;
  let hits = 0;
  let failed = '';
  let isInThread = false;
  const lift = await watchDisk(folder, (call, file, isThread) => {
    if (call === 'mkdir') return;
    const isCounted = isThread || !ofThreads;
    if (isCounted) calls++;
    // A full disk stays full; a failing sector fails once. Removing works on both, and so does finding
    // that a folder is there.
    const fails = code === 'ENOSPC' ? calls >= at && call !== 'unlink' : isCounted && calls === at;
    if (!fails) return;
    if (++hits === 1) {
      failed = `${call} ${path.relative(folder, file)}`;
      isInThread = isThread;
    }
    throw diskError(code, call, file);
  });
  return { hits: () => hits, isInThread: () => isInThread, what: () => failed, lift };
}

const WRITING = constants.O_WRONLY | constants.O_RDWR | constants.O_CREAT;
/** The names of open files. */
const names = new WeakMap<FileHandle, string>();
/** By descriptor, those of its last file: a worker thread has no handle. */
const namesOfThreads = new Map<number, string>();

async function install(folder: string): Promise<void> {
  isInstalled = true;
  const mutable = unchecked<Record<string, (...args: never[]) => Promise<unknown>>>(fs);
  const open = fs.open.bind(fs);
  mutable.open = async (file: PathLike, flags: string | number = 'r', mode?: number) => {
    const writes = typeof flags === 'number' ? (flags & WRITING) !== 0 : flags !== 'r';
    if (writes) called('open', String(file));
    const handle = await open(file, flags, mode);
    names.set(handle, String(file));
    namesOfThreads.set(handle.fd, String(file));
    return handle;
  };
  for (const name of ['rename', 'unlink', 'mkdir'] as const) {
    const original = mutable[name] as (...args: unknown[]) => Promise<unknown>;
    mutable[name] = async (...args: unknown[]) => {
      called(name, String(args[0]));
      return original(...args);
    };
  }
  const probe = await open(folder, 'r');
  const prototype = Object.getPrototypeOf(probe) as Record<string, unknown>;
  await probe.close();
  for (const name of [
    'write',
    'writev',
    'writeFile',
    'appendFile',
    'truncate',
    'datasync',
    'sync',
  ]) {
    const original = prototype[name] as (...args: unknown[]) => Promise<unknown>;
    prototype[name] = async function (this: FileHandle, ...args: unknown[]) {
      called(name, names.get(this) ?? '');
      return original.apply(this, args);
    };
  }
  watchThreads(
    () => watched !== undefined,
    ({ call, fd }) => called(call, namesOfThreads.get(fd) ?? '', true),
  );
  syncBuiltinESMExports();
}

function called(call: string, file: string, isInThread = false): void | Promise<void> {
  if (watched === undefined) return;
  const name = path.resolve(file);
  if (name === watched.folder || name.startsWith(watched.folder + path.sep))
    return watched.onCall(call, name, isInThread);
}
