import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { isNodeError, StorageError } from '../errors.js';
import { type FileSystem, storageError, writeAll } from './file-system.js';

export interface Lock {
  release(): Promise<void>;
}

/** Who holds a lock. `started` tells a process from a later one of the same number. */
interface Holder {
  readonly pid: number;
  readonly host: string;
  readonly started?: string | undefined;
  readonly token: string;
}

/** The locks of this very process: that its own number stands in a lock file says too little. */
const held = new Set<string>();

/** How long a lock may stay without its holder's name: it was killed just there otherwise. */
const UNNAMED_MS = 200;
/** Before another look at a lock that is about to change. */
const SOON_MS = 5;
/** Rights to remove rights: one for each process that was killed while it removed the one before. */
const LEVELS = 5;

/** Keeps two processes from one checkpoint. The lock of a process that is dead is taken over. */
export async function takeLock(fs: FileSystem, file: string): Promise<Lock> {
  const own = { pid: process.pid, host: os.hostname(), started: processStat('self')?.started };
  const token = randomUUID();
  const text = `${JSON.stringify({ ...own, token })}\n`;
  held.add(token);
  try {
    while (!(await create(fs, file, text))) await removeStale(fs, file);
  } catch (error) {
    held.delete(token);
    throw storageError('lock', file, error);
  }
  return {
    async release() {
      try {
        await tidy(fs, file);
      } finally {
        held.delete(token);
      }
      await unlinkIfThere(fs, file);
    },
  };
}

async function create(fs: FileSystem, file: string, text: string): Promise<boolean> {
  try {
    const handle = await fs.open(file, 'wx', 0o600);
    try {
      await writeAll(handle, Buffer.from(text), 0);
    } finally {
      await handle.close();
    }
    return true;
  } catch (error) {
    if (isNodeError(error, 'EEXIST')) return false;
    throw error;
  }
}

/** The lock on a lock: who holds it may remove what a dead process left. */
export function rightPath(file: string): string {
  return `${file}.old`;
}

/**
 * Removes the lock of a dead process; throws when its holder is alive. Only who holds the right to may:
 * else one process could remove what another has just put in its place. The right is itself a lock.
 */
async function removeStale(fs: FileSystem, file: string): Promise<void> {
  const seen = await readNamed(fs, file);
  if (seen === undefined) return;
  const holder = holderIn(seen);
  if (holder !== undefined && mayBeAlive(holder)) throw inUse(file, holder);
  const right = await takeLock(fs, rightPath(file));
  try {
    if ((await readNamed(fs, file)) === seen) await unlinkIfThere(fs, file);
  } finally {
    await right.release();
  }
}

/** Removes rights that were left behind. While the lock itself is held, no right means anything. */
async function tidy(fs: FileSystem, file: string): Promise<void> {
  let right = file;
  for (let level = 1; level <= LEVELS; level++) {
    right = rightPath(right);
    const text = await readIfThere(fs, right);
    if (text === undefined) continue;
    const holder = holderIn(text);
    if (holder === undefined || !mayBeAlive(holder)) await unlinkIfThere(fs, right);
  }
}

/** A lock, with the name of its holder unless that was killed before it came to write it. */
async function readNamed(fs: FileSystem, file: string): Promise<string | undefined> {
  let text = await readIfThere(fs, file);
  for (let waited = 0; waited < UNNAMED_MS; waited += SOON_MS) {
    if (text === undefined || holderIn(text) !== undefined) break;
    await sleep(SOON_MS);
    text = await readIfThere(fs, file);
  }
  return text;
}

function holderIn(text: string): Holder | undefined {
  try {
    const holder = JSON.parse(text) as Holder | null;
    return Number.isSafeInteger(holder?.pid) ? (holder as Holder) : undefined;
  } catch {
    return undefined;
  }
}

function mayBeAlive(holder: Holder): boolean {
  // Nothing is known of the processes of another machine or container.
  if (holder.host !== os.hostname()) return true;
  if (holder.pid === process.pid) return held.has(holder.token);
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    if (isNodeError(error, 'ESRCH')) return false;
  }
  const stat = processStat(holder.pid);
  if (stat === undefined) return true;
  return stat.state !== 'Z' && (holder.started === undefined || stat.started === holder.started);
}

/** What Linux knows of a process: elsewhere its number has to do. */
function processStat(pid: number | 'self'): { state: string; started: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in parentheses may hold anything; the state comes next, the start 19 fields on.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', started: fields[19] ?? '' };
  } catch {
    return undefined;
  }
}

function inUse(file: string, { pid, host }: Holder): StorageError {
  const where = host === os.hostname() ? '' : ` on ${host}`;
  return new StorageError(
    `Another run holds ${file}: process ${pid}${where}. Wait for its end; if there is no such process, delete the file.`,
    { path: file, retryable: true },
  );
}

async function readIfThere(fs: FileSystem, file: string): Promise<string | undefined> {
  try {
    return await fs.readFile(file, 'utf8');
  } catch (error) {
    if (isNodeError(error, 'ENOENT')) return undefined;
    throw error;
  }
}

async function unlinkIfThere(fs: FileSystem, file: string): Promise<void> {
  try {
    await fs.unlink(file);
  } catch (error) {
    if (!isNodeError(error, 'ENOENT')) throw storageError('unlock', file, error);
  }
}
