import path from 'node:path';
import type { Random } from '../random.js';
import type { SystemCall } from './system-calls.js';

export type Survives = 'nothing' | 'last write' | 'everything' | 'sectors' | 'pages';

/** The sizes in bytes that are written atomically: `SECTOR` by a disk, `PAGE` by a file system. */
const SECTOR = 512;
const PAGE = 4096;

/**
 * Returns a file as it is after a power cut. Each sector (or page) is in the state of its last
 * sync, or in the state after any of the later writes to it. The length of the file is its length
 * at the last sync, or after any of the later changes.
 *
 * @param at The moment of the cut, as an index into `calls`.
 * @returns `undefined` if the file does not exist.
 */
export function fileAfterCut(
  calls: readonly SystemCall[],
  file: string,
  at: number,
  { survives, random }: { readonly survives: Survives; readonly random: Random },
): Buffer | undefined {
  if (!hasName(calls, file, at, survives, random)) return undefined;
  const changes = changesOf(calls, file, at).filter(({ kind }) => /write|truncate/.test(kind));
  const durable = changes.map(change => isDurable(calls, change, at));
  const likely = random.next();
  /**
   * Returns how many of a page's changes are on disk. These are all changes up to the last synced
   * one, and some of the later changes.
   */
  const kept = (touching: readonly number[]): number => {
    const synced = touching.findLastIndex(index => durable[index]) + 1;
    if (survives === 'everything') return touching.length;
    if (survives === 'last write')
      return touching.at(-1) === changes.length - 1 ? touching.length : synced;
    if (survives === 'nothing' || !random.chance(likely)) return synced;
    return random.whole(synced, touching.length);
  };
  const unit = survives === 'sectors' ? SECTOR : PAGE;
  const units = new Map<number, number[]>();
  for (const [index, { kind, at: start, bytes }] of changes.entries()) {
    if (kind === 'truncate') continue;
    for (let n = Math.floor(start / unit); n * unit < start + bytes.length; n++)
      units.set(n, [...(units.get(n) ?? []), index]);
  }
  const image = Buffer.alloc(
    Math.max(0, ...changes.map(({ at: start, bytes, length }) => length || start + bytes.length)),
  );
  for (const [n, touching] of units)
    for (const index of touching.slice(0, kept(touching))) {
      const { at: start, bytes } = changes[index] as SystemCall;
      const [from, to] = [
        Math.max(start, n * unit),
        Math.min(start + bytes.length, (n + 1) * unit),
      ];
      bytes.copy(image, from, from - start, to - start);
    }
  return image.subarray(0, lengthAfterCut(calls, changes, at, { survives, random }));
}

/**
 * Returns the length of the file after the power cut. The length that the file had at its last sync
 * survives. If a synced write came later, the file is at least long enough to contain its bytes.
 */
function lengthAfterCut(
  calls: readonly SystemCall[],
  changes: readonly SystemCall[],
  at: number,
  { survives, random }: { readonly survives: Survives; readonly random: Random },
): number {
  const endOf = ({ at: start, bytes }: SystemCall) => start + bytes.length;
  const lengths = [0];
  for (const change of changes)
    lengths.push(
      change.kind === 'truncate' ? change.length : Math.max(lengths.at(-1) ?? 0, endOf(change)),
    );
  const synced = changes.findLastIndex(change => hasSync(calls, change, at)) + 1;
  const later = changes.slice(synced).filter(change => isDurable(calls, change, at));
  const count =
    survives === 'everything'
      ? changes.length
      : survives === 'sectors' || survives === 'pages'
        ? random.whole(synced, changes.length)
        : synced;
  return Math.max(lengths[count] ?? 0, ...later.map(endOf));
}

/**
 * Returns whether all changes to a file were on disk before the call `at`. If so, a power cut
 * always leaves the same file.
 */
export function isAllDurable(calls: readonly SystemCall[], file: string, at: number): boolean {
  return changesOf(calls, file, at).every(call => isDurable(calls, call, at));
}

function changesOf(calls: readonly SystemCall[], path: string, at: number): readonly SystemCall[] {
  const { file } = calls.find(call => call.kind === 'create' && call.path === path) ?? {};
  return calls.filter(
    call =>
      (call.kind === 'create' ? call.path === path : call.file === file && call.kind !== 'sync') &&
      call.began < at,
  );
}

function isDurable(calls: readonly SystemCall[], change: SystemCall, at: number): boolean {
  return (change.isSynced && change.ended <= at) || hasSync(calls, change, at);
}

function hasSync(calls: readonly SystemCall[], change: SystemCall, at: number): boolean {
  const isName = change.kind === 'create' || change.kind === 'folder';
  const synced = isName ? path.dirname(change.path) : change.file;
  return calls.some(
    call =>
      call.kind === 'sync' &&
      call.file === synced &&
      change.ended <= call.began &&
      call.ended <= at,
  );
}

function hasName(
  calls: readonly SystemCall[],
  file: string,
  at: number,
  survives: Survives,
  random: Random,
): boolean {
  if (calls.some(({ kind, path: name }) => kind === 'remove' && name === file))
    throw new Error(`${file} is removed, which is not simulated`);
  const created = calls.filter(
    ({ kind, path: name, began }) =>
      (kind === 'create' || kind === 'folder') &&
      (name === file || file.startsWith(`${name}/`)) &&
      began < at,
  );
  if (!created.some(({ path: name }) => name === file)) return false;
  return created.every(
    name =>
      isDurable(calls, name, at) ||
      survives === 'everything' ||
      (survives !== 'nothing' && random.chance(0.7)),
  );
}
