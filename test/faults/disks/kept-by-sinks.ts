import { appendFile, mkdir } from 'node:fs/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { parquetReadObjects } from 'hyparquet';
import { MOUNT, storedFiles } from '../../storage/mounted-disk.js';
import { loadModule } from '../load-library.js';
import type { KeptFiles } from './kept-files.js';

interface Item {
  readonly to: string;
  readonly n: number;
}

const BATCHES: readonly (readonly Item[])[] = Array.from({ length: 6 }, (_, batch) =>
  Array.from({ length: 1 + (batch % 3) }, (_, n) => ({
    to: 'ab'.charAt((batch + n) % 2),
    n: batch * 10 + n,
  })),
);
const COLUMNS = [
  { name: 'n', type: 'int32', value: ({ n }: Item) => n },
  { name: 'text', type: 'string', value: ({ n }: Item) => `${n} 🍕` },
] as const;
const CHECKPOINT = `${MOUNT}/deep/state/run.json`;
const CHECKPOINT_NAME = /^deep\/state\/run\.json$/;
const COMMITS = { checkpoint: CHECKPOINT, commitIntervalMs: 0 };

type Library = typeof import('millrace');
type Activity = import('millrace').Activity;
type Sink = import('millrace').Sink<Item, unknown>;

interface KeptOutputs {
  readonly name: string;
  readonly sink: (library: Library) => Sink;
  /** Patterns of the output files below `deep/`, without the checkpoint. */
  readonly files: readonly RegExp[];
  readonly commits?: boolean;
}

const OUTPUTS: readonly KeptOutputs[] = [
  {
    name: 'files',
    sink: ({ files }) => files({ path: ({ to }) => `${MOUNT}/deep/out/${to}.jsonl`, ...COMMITS }),
    files: [/^deep\/out\/[ab]\.jsonl$/],
  },
  {
    name: 'gzip-files',
    sink: ({ files }) =>
      files({
        path: ({ to }) => `${MOUNT}/deep/out/${to}.jsonl.gz`,
        gzip: true,
        maxBytes: 40,
        ...COMMITS,
      }),
    files: [/^deep\/out\/[ab]\.\d{4}\.jsonl\.gz$/],
  },
  {
    name: 'files-without-checkpoint',
    sink: ({ files }) => files({ path: ({ to }) => `${MOUNT}/deep/out/${to}.jsonl` }),
    files: [/^deep\/out\/[ab]\.jsonl$/],
    commits: false,
  },
  {
    name: 'csv',
    sink: ({ csv }) =>
      csv<Item>({
        path: ({ to }) => `${MOUNT}/deep/out/${to}.csv`,
        columns: COLUMNS,
        ...COMMITS,
      }),
    files: [/^deep\/out\/[ab]\.csv$/],
  },
  {
    name: 'parquet',
    sink: ({ parquet }) =>
      parquet<Item>({
        path: ({ to }) => `${MOUNT}/deep/out/${to}.parquet`,
        columns: COLUMNS,
        maxBytes: 60,
        checkpoint: CHECKPOINT,
      }),
    files: [/^deep\/out\/[ab]\.\d{4}\.parquet$/],
  },
  {
    name: 'tee',
    sink: ({ tee, files, csv }) =>
      tee(
        files<Item>({ path: `${MOUNT}/deep/all.jsonl`, commitIntervalMs: 0 }),
        csv<Item>({
          path: ({ to }) => `${MOUNT}/deep/out/${to}.csv`,
          columns: COLUMNS,
          commitIntervalMs: 0,
        }),
        { checkpoint: CHECKPOINT },
      ),
    files: [/^deep\/all\.jsonl$/, /^deep\/out\/[ab]\.csv$/],
  },
];

export const SINKS: readonly string[] = OUTPUTS.map(({ name }) => name);

/** In every state that a reader finds, each output that has its final name must be complete. */
export async function keptOutputs(library: URL, name: string): Promise<KeptFiles> {
  const millrace = await loadModule(library, 'index');
  const { sink, files, commits = true } = OUTPUTS.find(one => one.name === name) as KeptOutputs;
  const places = () =>
    new millrace.Flow<Item>(async function* ({ resume }) {
      for (let at = Number(resume?.next ?? 0); at < BATCHES.length; at++)
        yield { items: BATCHES[at] as readonly Item[], cursor: { next: at + 1 } };
    });
  return {
    name,
    files: commits ? [...files, CHECKPOINT_NAME] : files,
    start: () => ({ steps: [() => millrace.pipeline(places(), sink(millrace))] }),
    read: () => readOutputs(files, name === 'parquet'),
    isBetween: (found, _before, after) => isBetween(found, after, name === 'parquet'),
  };
}

type Found = Readonly<Record<string, readonly string[]>>;

/**
 * Reads the records of files with a final name. Readers skip all other files.
 * @param isParquet Whether the outputs are Parquet. A resumed run may split their records into
 * files differently, so the records of all files are compared together.
 */
async function readOutputs(files: readonly RegExp[], isParquet: boolean): Promise<Found> {
  const found: Record<string, string[]> = {};
  for (const [stored, bytes] of storedFiles())
    if (files.some(pattern => pattern.test(stored))) found[stored] = await recordsOf(stored, bytes);
  return isParquet ? { all: Object.values(found).flat().toSorted() } : found;
}

function isBetween(found: unknown, after: unknown, isParquet: boolean): boolean {
  return Object.entries(found as Found).every(([stored, records]) => {
    const expected = (after as Found)[stored] ?? [];
    if (!isParquet) return String(expected) === String(records);
    return (
      new Set(records).size === records.length && records.every(record => expected.includes(record))
    );
  });
}

async function recordsOf(name: string, bytes: Buffer): Promise<string[]> {
  if (name.endsWith('.gz')) return gunzipSync(bytes).toString().split('\n');
  if (!name.endsWith('.parquet')) return bytes.toString().split('\n');
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  const rows = await parquetReadObjects({ file: file as ArrayBuffer });
  return rows.map(row => JSON.stringify(row));
}

const SAMPLE_START = Date.UTC(2024, 0, 1);

interface KeptByThreads {
  readonly name: string;
  readonly ending: 'jsonl' | 'jsonl.gz' | 'csv' | 'parquet';
  readonly sink: (library: Library) => import('millrace').Sink<Activity, unknown>;
  readonly matches?: boolean;
}

const HOURS = `${MOUNT}/deep/out/{hour}`;
const THREADS = { workers: 2, maxOpen: 2 };
const FIELDS = ['id', 'posted_at', 'text', 'rule_tags'] as const;

const BY_THREADS: readonly KeptByThreads[] = [
  {
    name: 'files-by-threads',
    ending: 'jsonl',
    sink: ({ files }) => files({ path: `${HOURS}.jsonl`, ...THREADS, ...COMMITS }),
  },
  {
    name: 'gzip-files-by-threads',
    ending: 'jsonl.gz',
    sink: ({ files }) => files({ path: `${HOURS}.jsonl.gz`, ...THREADS, ...COMMITS }),
  },
  {
    name: 'csv-by-threads',
    ending: 'csv',
    sink: ({ csv }) => csv({ path: `${HOURS}.csv`, columns: FIELDS, ...THREADS, ...COMMITS }),
  },
  {
    name: 'parquet-by-threads',
    ending: 'parquet',
    sink: ({ parquet }) =>
      parquet({
        path: `${HOURS}.parquet`,
        columns: FIELDS,
        compression: 'none',
        rowGroup: 60,
        checkpoint: CHECKPOINT,
        ...THREADS,
      }),
  },
  {
    name: 'rules-by-threads',
    ending: 'jsonl',
    sink: ({ files }) => files({ path: `${HOURS}.jsonl`, ...THREADS, ...COMMITS }),
    matches: true,
  },
];

export const THREADED: readonly string[] = BY_THREADS.map(({ name }) => name);

export async function keptByThreads(library: URL, name: string): Promise<KeptFiles> {
  const millrace = await loadModule(library, 'index');
  const { activities, gunzip, jsonLines, localFiles, matchRules, pipeline } = millrace;
  const { samplePosts } = await loadModule(library, 'service/sample/sample-posts');
  const {
    ending,
    sink,
    matches = false,
  } = BY_THREADS.find(one => one.name === name) as KeptByThreads;
  const stored = [0, 1, 2].map(hour =>
    samplePosts(SAMPLE_START + hour * 3_600_000, { postsPerMinute: 3 })
      .map(({ raw }) => `${raw}\n`)
      .join(''),
  );
  const rules = [{ value: 'coffee OR rain OR music', tag: 'matched' }];
  const posts = () => activities()(jsonLines()(gunzip()(localFiles(`${MOUNT}/stored`))));
  const outputs = new RegExp(`^deep/out/2024-01-01T0[0-2](\\.\\d{4})?\\.${ending}$`);
  return {
    name,
    files: [/^stored\/\d\.json\.gz$/, outputs, CHECKPOINT_NAME],
    async prepare() {
      await mkdir(`${MOUNT}/stored`);
      for (const [index, text] of stored.entries())
        await appendFile(`${MOUNT}/stored/${index}.json.gz`, gzipSync(text));
    },
    start: () => ({
      steps: [
        () =>
          matches
            ? pipeline(posts(), matchRules(rules, { product: 'search' }), sink(millrace))
            : pipeline(posts(), sink(millrace)),
      ],
    }),
    read: () => readOutputs([outputs], ending === 'parquet'),
    isBetween: (found, _before, after) => isBetween(found, after, ending === 'parquet'),
  };
}
