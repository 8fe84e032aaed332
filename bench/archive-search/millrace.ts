import { readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { rules } from 'millrace';
import { type Archive, type ArchiveQuery, createService, type Service } from 'millrace/service';
import type { Posts } from './posts.js';
import { type Month, PAGE, type Query } from './queries.js';

const HOUR = 3_600_000;

// The function that the service uses to open a folder. It is in the package, but the package does
// not export it.
const { openFolderArchive } = (await import(
  new URL('./archive/folder/folder-archive.js', import.meta.resolve('millrace/service')).href
)) as { openFolderArchive(folder: string): Promise<Archive> };

let archive: Archive;
let service: Service;
let searchUrl: string;
let authorization: string;

/** Builds the index of the archive. Resolves to its size in bytes. */
export async function build({ folder }: Posts): Promise<number> {
  const index = path.join(folder, '.millrace-index');
  await rm(index, { recursive: true, force: true });
  await open({ folder });
  await archive.close();
  const files = await readdir(index, { recursive: true });
  const sizes = await Promise.all(files.map(file => stat(path.join(index, file))));
  return sizes.reduce((sum, { size }) => sum + size, 0);
}

export async function open({ folder }: { readonly folder: string }): Promise<void> {
  archive = await openFolderArchive(folder);
}

export async function search(query: Query, { from, to }: Month): Promise<readonly string[]> {
  const { posts } = await archive.search(queryOf(query), { from, to }, { limit: PAGE });
  return posts.map(({ id }) => id);
}

export async function counts(query: Query, { from, to }: Month): Promise<Record<string, number>> {
  const { buckets } = await archive.counts(queryOf(query), { from, to }, HOUR);
  return byHour(buckets.map(({ start, count }) => [start, count]));
}

/** Starts a local service with the same archive, which is then searched over HTTP. */
export async function serve(): Promise<void> {
  service = createService({ archive, limits: 'relaxed' });
  const { baseUrl, account, label, email, password } = await service.start();
  searchUrl = `${baseUrl}/search/fullarchive/accounts/${account}/${label}`;
  authorization = `Basic ${Buffer.from(`${email}:${password}`).toString('base64')}`;
}

export async function searchByHttp(query: Query, month: Month): Promise<readonly string[]> {
  const { results } = await post<{ results: readonly { id_str: string }[] }>('.json', {
    ...requestOf(query, month),
    maxResults: PAGE,
  });
  return results.map(({ id_str }) => id_str);
}

export async function countsByHttp(query: Query, month: Month): Promise<Record<string, number>> {
  const { results } = await post<{ results: readonly { timePeriod: string; count: number }[] }>(
    '/counts.json',
    { ...requestOf(query, month), bucket: 'hour' },
  );
  return byHour(results.map(({ timePeriod, count }) => [epochOf(timePeriod), count]));
}

export async function close(): Promise<void> {
  await service.stop();
  await archive.close();
}

/**
 * Parses the rule on every call, because a request to the service also contains the rule as a
 * string.
 */
function queryOf({ rule }: Query): ArchiveQuery {
  const { tree } = rules.parse(rule);
  if (tree === undefined) throw new Error(`Not a rule: ${rule}`);
  const matches = rules.compile(tree, { product: 'search' });
  return { tree, matches };
}

function requestOf({ rule }: Query, { from, to }: Month): object {
  return { query: rule, fromDate: timestamp(from), toDate: timestamp(to) };
}

async function post<Answer>(path: string, request: object): Promise<Answer> {
  const response = await fetch(`${searchUrl}${path}`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(request),
  });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return (await response.json()) as Answer;
}

function byHour(counts: readonly (readonly [hour: number, count: number])[]) {
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

function timestamp(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace(/\D/g, '');
}

function epochOf(text: string): number {
  const [, year, month, day, hour] = /^(\d{4})(\d\d)(\d\d)(\d\d)/.exec(text) ?? [];
  return Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour));
}
