import { createHash } from 'node:crypto';
import path from 'node:path';
import { optionError, special } from './check.js';
import { MINUTE, parseTimestamp, type Window } from './time.js';

/** One of several disjoint parts of a source, which are the whole together. */
export interface Share {
  /** Which part, from 1 to `of`. */
  readonly index: number;
  /** How many parts there are, at most 10,000. */
  readonly of: number;
}

/** A verdict lists all that are missing. */
const MAX_SHARES = 10_000;

/** The variable that sets the share of all sources of a script: `2/8`. */
export const SHARE_VARIABLE = 'MILLRACE_SHARE';

/** The option of a source. */
export const SHARE_OPTION = special<Share>(
  'the part of the source that this process takes',
  'an object such as { index: 2, of: 8 }, with an index from 1 to `of`, which is at most 10,000',
  isShare,
);

export function isShare(value: unknown): value is Share {
  if (typeof value !== 'object' || value === null) return false;
  const { index, of, ...others } = value as Partial<Share>;
  const areWhole = Number.isSafeInteger(index) && Number.isSafeInteger(of);
  return (
    areWhole &&
    index! >= 1 &&
    index! <= of! &&
    of! <= MAX_SHARES &&
    Object.keys(others).length === 0
  );
}

/** The share that a text such as `2/8` says; `undefined` where it says none. */
export function parseShare(text: string): Share | undefined {
  const [, index, of] = /^(\d{1,9})\/(\d{1,9})$/.exec(text) ?? [];
  const share = { index: Number(index), of: Number(of) };
  return isShare(share) ? share : undefined;
}

/** The share in a checkpoint or cursor: `2/8`. */
export function shareName({ index, of }: Share): string {
  return `${index}/${of}`;
}

/** The share as a member of what a checkpoint or cursor compares; none for the whole. */
export function shareMember(share: Share | undefined): { readonly share?: string } {
  return share === undefined ? {} : { share: shareName(share) };
}

/**
 * The share that the environment sets, for sources without an account.
 *
 * @throws OptionError
 */
export function shareOf(
  call: string,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Share | undefined {
  const text = environment[SHARE_VARIABLE];
  if (text === undefined || text === '') return undefined;
  const share = parseShare(text);
  if (share === undefined)
    throw optionError(call, SHARE_VARIABLE, `must be such as 2/8, got ${JSON.stringify(text)}`);
  return share;
}

/**
 * Whether a share has a file. The last two parts of its path decide, so that a folder may be at another
 * place on each machine. Files of ten minutes, `20240131/2350.json.gz`, take turns; others are dealt out by a
 * hash.
 */
export function hasFile({ index, of }: Share, file: string): boolean {
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
 * The part of a window that a share has: shares have about the same number of minutes, the first the
 * oldest ones. `undefined` where it has none, as there are fewer minutes than shares.
 */
export function partOf({ from, to }: Window, { index, of }: Share): Window | undefined {
  const minutes = Math.round((to - from) / MINUTE);
  const edge = (i: number) => from + Math.floor((minutes * i) / of) * MINUTE;
  const part = { from: edge(index - 1), to: edge(index) };
  return part.from < part.to ? part : undefined;
}

/** The part of a rate that one of several processes may use. */
export function partOfRate<R extends { readonly requests: number; readonly perMs: number }>(
  rate: R,
  { of }: Share,
): R {
  const { requests, perMs } = rate;
  if (requests >= of) return { ...rate, requests: Math.floor(requests / of) };
  return { ...rate, requests: 1, perMs: Math.ceil((perMs * of) / requests) };
}
