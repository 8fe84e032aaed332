import { median } from '../measure.js';
import type { Chart } from '../question.js';
import type { Reply } from './child.js';
import type { Posts } from './posts.js';
import { PAGE, type Query } from './queries.js';

export interface Built {
  readonly name: string;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakMegabytes: number;
  readonly bytes: number;
}

/**
 * What a query asks for:
 * - `page`: the newest page of the month;
 * - `new page`: the newest page before an hour that differs each time;
 * - `counts`: a month of counts.
 */
export type Task = 'page' | 'new page' | 'counts';

export interface Row {
  readonly query: Query;
  readonly task: Task;
  readonly found: unknown;
  readonly replies: ReadonlyMap<string, readonly Reply[]>;
}

const TASKS: Record<Task, string> = {
  page: `newest ${PAGE}, the same`,
  'new page': `newest ${PAGE}, of other days`,
  counts: 'hourly counts',
};

interface Findings {
  readonly posts: Posts;
  readonly built: readonly Built[];
  readonly duckdb: string | undefined;
  readonly rows: readonly Row[];
  readonly http: readonly Row[];
}

export function report({ posts, built, duckdb, rows, http }: Findings): string {
  const names: Record<string, string> = { millrace: 'millrace', duckdb: `DuckDB ${duckdb}` };
  const present = built.map(({ name }) => name);
  const asked = rows.map(({ query, task, found, replies }, i) => {
    const middle = (name: string) => median(replies.get(name)?.map(({ ms }) => ms) ?? []);
    return [
      `\`${query.rule}\`, ${TASKS[task]}`,
      foundIn(found),
      ...present.flatMap(name => timesOf(replies.get(name) ?? [])),
      ...(present.includes('duckdb') ? [(middle('duckdb') / middle('millrace')).toFixed(1)] : []),
      median(http[i]?.replies.get('http')?.map(({ ms }) => ms) ?? []).toFixed(1),
    ];
  });
  return [
    `${posts.posts.toLocaleString('en')} posts of a month in ${posts.files.toLocaleString('en')} gzip files, ` +
      `${(posts.bytes / 1e9).toFixed(2)} GB of JSON in ${(posts.gzipBytes / 1e6).toFixed(0)} MB. ` +
      'Milliseconds, warm, each in a process of its own and without a server. Ours uses one thread and the pool ' +
      'that inflates files, and a page is of whole posts: of the same page the text of its files is still in ' +
      'memory, of other days it is read and inflated. DuckDB uses all cores and gives ids, from a table of ' +
      'time, id, language, text and words, lower-cased and without accents. Ids and counts were the same each time. ' +
      'The last column is ours once more, through the endpoint of the local service.',
    '',
    ...table([
      [
        '',
        'found',
        ...present.flatMap(name => [names[name] as string, 'spread', 'cpu']),
        ...(present.includes('duckdb') ? ['time / ours'] : []),
        'millrace, HTTP',
      ],
      ...asked,
    ]),
    '',
    ...table([
      ['', 'built in s', 'cpu s', 'peak MiB', 'MB on disk', 'peak MiB of the queries'],
      ...built.map(({ name, seconds, cpuSeconds, peakMegabytes, bytes }) => [
        names[name] as string,
        seconds.toFixed(1),
        cpuSeconds.toFixed(1),
        peakMegabytes.toFixed(0),
        (bytes / 1e6).toFixed(0),
        peakOf(name, rows).toFixed(0),
      ]),
    ]),
    '',
    duckdb === undefined
      ? 'Not run: DuckDB: `@duckdb/node-api` is not here, or not for this platform; `npm install` brings it where it is. The ids and counts of ours are then not compared.'
      : "DuckDB's full-text search is an extension to be downloaded, no part of its package, and is not compared.",
    '',
  ].join('\n');
}

/**
 * Creates the chart. Pages that were already in memory are omitted, because they say the least
 * about the engines.
 */
export function chartOf({ rows, duckdb }: Findings): Chart {
  return {
    name: 'archive-search',
    title: 'Search of an archive of a million posts',
    unit: 'milliseconds',
    better: 'less',
    logarithmic: true,
    bars: rows
      .filter(({ task }) => task !== 'page')
      .flatMap(({ query, task, replies }) =>
        [...replies].map(([name, times]) => ({
          panel: `${query.rule}, ${TASKS[task]}`,
          name: name === 'millrace' ? name : `DuckDB ${duckdb}`,
          kind: name === 'millrace' ? ('ours' as const) : ('peer' as const),
          values: times.map(({ ms }) => ms),
        })),
      ),
  };
}

function foundIn(value: unknown): string {
  if (Array.isArray(value)) return `${value.length} posts`;
  const sum = Object.values(value as Record<string, number>).reduce((all, one) => all + one, 0);
  return sum.toLocaleString('en');
}

function peakOf(name: string, rows: readonly Row[]): number {
  const replies = rows.flatMap(row => row.replies.get(name) ?? []);
  return Math.max(...replies.map(({ peakMegabytes }) => peakMegabytes));
}

function timesOf(replies: readonly Reply[]): string[] {
  const times = replies.map(({ ms }) => ms);
  return [
    median(times).toFixed(1),
    `${Math.min(...times).toFixed(1)}–${Math.max(...times).toFixed(1)}`,
    median(replies.map(({ cpuMs }) => cpuMs)).toFixed(1),
  ];
}

function table([head, ...rows]: readonly (readonly string[])[]): string[] {
  const rule = (head ?? []).map((_, i) => (i === 0 ? '---' : '---:'));
  return [head ?? [], rule, ...rows].map(cells => `| ${cells.join(' | ')} |`);
}
