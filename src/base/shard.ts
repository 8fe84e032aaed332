import { createHash } from 'node:crypto';
import path from 'node:path';
import { optionError, special } from './check.js';
import { MINUTE, parseTimestamp, type Window } from './time.js';

/** One of several disjoint parts of a source. Together, the parts are the whole source. */
export interface Shard {
  /** The position of the part, from 1 to `of`. */
  readonly index: number;
  /** The number of parts, at most 10,000. */
  readonly of: number;
}

/** The upper limit of `of`. A message about missing shards lists all of them, so there cannot be too many. */
const MAX_SHARDS = 10_000;

/** The environment variable that sets the shard for all sources of a script, such as `2/8`. */
export const SHARD_VARIABLE = 'MILLRACE_SHARD';

export const SHARD_OPTION = {
  ...special<Shard>(
    'the part of the source that this process takes',
    'an object such as { index: 2, of: 8 }, or 2/8 in a flag, with an index from 1 to `of`, which is at most 10,000',
    isShard,
  ),
  placeholder: '2/8',
  fromText: parseShard,
};

export function isShard(value: unknown): value is Shard {
  if (typeof value !== 'object' || value === null) return false;
  const { index, of, ...others } = value as Partial<Shard>;
  const areWhole = Number.isSafeInteger(index) && Number.isSafeInteger(of);
  return (
    areWhole &&
    index! >= 1 &&
    index! <= of! &&
    of! <= MAX_SHARDS &&
    Object.keys(others).length === 0
  );
}

export function parseShard(text: string): Shard | undefined {
  const [, index, of] = /^(\d{1,9})\/(\d{1,9})$/.exec(text) ?? [];
  const shard = { index: Number(index), of: Number(of) };
  return isShard(shard) ? shard : undefined;
}

export function shardName({ index, of }: Shard): string {
  return `${index}/${of}`;
}

/**
 * Returns `{ shard: '2/8' }` to be stored in a checkpoint or cursor. A later run with another shard
 * is then refused. Returns an empty object for the whole source.
 */
export function shardMember(shard: Shard | undefined): { readonly shard?: string } {
  return shard === undefined ? {} : { shard: shardName(shard) };
}

/**
 * Returns the shard that the environment variable `MILLRACE_SHARD` sets, for sources without an account.
 *
 * @throws OptionError
 */
export function environmentShard(
  call: string,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Shard | undefined {
  const text = environment[SHARD_VARIABLE];
  if (text === undefined || text === '') return undefined;
  const shard = parseShard(text);
  if (shard === undefined)
    throw optionError(call, SHARD_VARIABLE, `must be such as 2/8, got ${JSON.stringify(text)}`);
  return shard;
}

/**
 * Whether a file belongs to a shard. Only the last two segments of the path decide, so that the parent folder
 * may have a different path on each machine. Ten-minute files such as `20240131/2350.json.gz` are assigned to
 * the shards in turn. All other files are assigned by a hash.
 */
export function hasFile({ index, of }: Shard, file: string): boolean {
  const key = path.normalize(file).split(/[/\\]/).slice(-2).join('/');
  const [, day = '', minute = ''] = /(?:^|\/)(\d{8})\/(\d{4})\D[^/]*$/.exec(key) ?? [];
  const time = parseTimestamp(day + minute);
  const turn =
    time === undefined
      ? createHash('sha256').update(key).digest().readUIntBE(0, 6)
      : Math.floor(time / (10 * MINUTE));
  return turn % of === index - 1;
}

/**
 * Returns the part of a window that belongs to a shard. All shards have about the same number of
 * minutes, and the first shard has the oldest. If the window has fewer minutes than there are
 * shards, some shards get none, and this returns `undefined`.
 */
export function partOf({ from, to }: Window, { index, of }: Shard): Window | undefined {
  const minutes = Math.round((to - from) / MINUTE);
  const edge = (i: number) => from + Math.floor((minutes * i) / of) * MINUTE;
  const part = { from: edge(index - 1), to: edge(index) };
  return part.from < part.to ? part : undefined;
}

/**
 * Divides a rate limit among the processes that share it, one for each shard. Returns the part of one
 * process.
 */
export function partOfRate<R extends { readonly requests: number; readonly perMs: number }>(
  rate: R,
  { of }: Shard,
): R {
  const { requests, perMs } = rate;
  if (requests >= of) return { ...rate, requests: Math.floor(requests / of) };
  return { ...rate, requests: 1, perMs: Math.ceil((perMs * of) / requests) };
}
