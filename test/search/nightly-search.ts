import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll } from 'vitest';
import { DAY, floorTo, formatTimestamp, MINUTE } from '../../src/base/time.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { type AccountOptions, account } from '../../src/http/account.js';
import { tap } from '../../src/operators/tap.js';
import { type SearchOptions, search } from '../../src/search/search.js';
import { createService, type Service } from '../../src/service/index.js';
import { collect } from '../../src/sinks/collect.js';
import { type FilesOptions, files } from '../../src/sinks/files.js';
import { impatient } from '../http/virtual-time.js';

export const START = Date.UTC(2024, 4, 10, 9, 41, 12);

export let service: Service;

export let addresses: Awaited<ReturnType<Service['start']>>;

export const local = (options: AccountOptions = {}) =>
  account(
    {
      ...addresses,
      timing: impatient(),
      limits: { search: [] },
      ...options,
    },
    {},
  );

export const QUERY = {
  query: 'good OR new OR day OR coffee OR rain',
  product: 'fullarchive',
} as const;

export const FROM = formatTimestamp(floorTo(MINUTE, START) - 2 * DAY);

export const NIGHTLY = { ...QUERY, fromDate: FROM, incremental: true, maxResults: 25 } as const;

export function outputs<T>(
  folder: string,
  options: Partial<FilesOptions<T>> = {},
): FilesOptions<T> {
  return {
    path: path.join(folder, '{day}.jsonl'),
    checkpoint: path.join(folder, 'checkpoint.json'),
    commitIntervalMs: 0,
    ...options,
  };
}

export async function linesIn(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter(name => name.includes('.jsonl')).sort();
  const texts = await Promise.all(names.map(name => readFile(path.join(folder, name))));
  return texts.flatMap((bytes, index) => {
    const text = String(names[index]?.endsWith('.gz') ? gunzipSync(bytes) : bytes);
    return text.split('\n').filter(line => line !== '');
  });
}

/** Returns only the ids of posts, so that failure messages are short. */
export const idsOf = (lines: readonly string[]) =>
  lines.map(line => JSON.parse(line).id_str).sort();

export async function allPosts(toDate: string, fromDate = FROM): Promise<string[]> {
  const posts = await pipeline(search(local(), { ...QUERY, fromDate, toDate }), collect());
  return posts.map(post => post.raw.toString());
}

export const searchable = (unit = MINUTE) =>
  formatTimestamp(floorTo(unit, service.clock.now() - MINUTE));

export class Crash extends Error {}

export function crashAfter<T>(items: number | undefined) {
  let left = items ?? Number.POSITIVE_INFINITY;
  return tap<T>(() => {
    if (left-- <= 0) throw new Crash();
  });
}

export const run = (folder: string, options: Partial<SearchOptions> = {}, crash?: number) =>
  pipeline(search(local(), { ...NIGHTLY, ...options }), crashAfter(crash), files(outputs(folder)));

export function setUpService(): void {
  beforeAll(async () => {
    service = createService({ postsPerMinute: 0.3, limits: 'relaxed' });
    addresses = await service.start();
    // The clock is frozen, because tests compare the ends of windows.
    service.clock.change({ frozen: true });
  });
  afterAll(() => service.stop());
}
