import { constants, promises as fs, type PathLike } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { unchecked } from '../../unchecked.js';
import { watchThreads } from './watched-thread.js';

/**
 * Called before each call that changes a file below the watched folder. If it throws, the call
 * fails with that error. If it returns a promise, a worker thread waits for it.
 */
export type OnDiskCall = (call: string, file: string, isInThread: boolean) => void | Promise<void>;

let watched: { readonly folder: string; readonly onCall: OnDiskCall } | undefined;
let isInstalled = false;

/**
 * Calls `onCall` before each call of `node:fs/promises` that changes something below `folder`, from
 * any module of this process. Also calls it before each write of worker threads that start later.
 * Returns a function that stops this.
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

export interface FailingDisk {
  hits(): number;
  isInThread(): boolean;
  what(): string;
  lift(): void;
}

/**
 * Makes disk calls below a folder fail: with `ENOSPC` every call from `at` on, with `EIO` only that
 * call.
 *
 * @param at The position of the first failing call among the calls that change a file below the
 * folder, starting at 1.
 * @param ofThreads Whether to count only the writes of worker threads.
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
    // A full disk stays full, but files can still be removed. A failing sector fails only once.
    // Creating folders never fails, see above.
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
const names = new WeakMap<FileHandle, string>();
/**
 * The path of the last file that was opened with each descriptor. The calls of worker threads have
 * a descriptor but no handle.
 */
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
