import { appendFile, mkdir } from 'node:fs/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { parquetReadObjects } from 'hyparquet';
import { MOUNT, storedFiles } from '../../storage/mounted-disk.js';
import { loadModule } from '../load-module.js';
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
type Sink = import('millrace').Sink<Item, unknown>;

/** The outputs of a sink and its checkpoint. */
interface KeptOutputs {
  readonly name: string;
  readonly sink: (library: Library) => Sink;
  /** Names below `deep/`, without the checkpoint. */
  readonly files: readonly RegExp[];
  /** @default true */
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

/** The outputs of a sink and its checkpoint; with these names every output is whole. */
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
    /** What has its final name; a reader skips the rest. */
    async read() {
      const found: Record<string, string[]> = {};
      for (const [stored, bytes] of storedFiles())
        if (files.some(pattern => pattern.test(stored)))
          found[stored] = await recordsOf(stored, bytes);
      // A run that goes on may begin a Parquet file elsewhere.
      return name === 'parquet' ? { all: Object.values(found).flat().toSorted() } : found;
    },
    isBetween: (found, _before, after) =>
      Object.entries(found as Record<string, string[]>).every(([stored, records]) => {
        const expected = (after as Record<string, string[]>)[stored] ?? [];
        if (name !== 'parquet') return String(expected) === String(records);
        return (
          new Set(records).size === records.length &&
          records.every(record => expected.includes(record))
        );
      }),
  };
}

async function recordsOf(name: string, bytes: Buffer): Promise<string[]> {
  if (name.endsWith('.gz')) return gunzipSync(bytes).toString().split('\n');
  if (!name.endsWith('.parquet')) return bytes.toString().split('\n');
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  const rows = await parquetReadObjects({ file: file as ArrayBuffer });
  return rows.map(row => JSON.stringify(row));
}

const SAMPLE_START = Date.UTC(2024, 0, 1);

/** Lines that worker threads write to outputs, from stored files. */
export async function keptByThreads(library: URL): Promise<KeptFiles> {
  const { activities, files, gunzip, jsonLines, localFiles, pipeline } = await loadModule(
    library,
    'index',
  );
  const { samplePosts } = await loadModule(library, 'service/sample/sample-posts');
  const stored = [0, 1, 2].map(hour =>
    samplePosts(SAMPLE_START + hour * 3_600_000, { postsPerMinute: 3 })
      .map(({ raw }) => `${raw}\n`)
      .join(''),
  );
  const outputs = /^deep\/out\/2024-01-01T0[0-2]\.jsonl$/;
  return {
    name: 'files-by-threads',
    files: [/^stored\/\d\.json\.gz$/, outputs, CHECKPOINT_NAME],
    async prepare() {
      await mkdir(`${MOUNT}/stored`);
      for (const [index, text] of stored.entries())
        await appendFile(`${MOUNT}/stored/${index}.json.gz`, gzipSync(text));
    },
    start: () => ({
      steps: [
        () =>
          pipeline(
            localFiles(`${MOUNT}/stored`),
            gunzip(),
            jsonLines(),
            activities(),
            files({
              path: `${MOUNT}/deep/out/{hour}.jsonl`,
              workers: 2,
              maxOpen: 2,
              ...COMMITS,
            }),
          ),
      ],
    }),
    async read() {
      const found = [...storedFiles()].filter(([name]) => outputs.test(name));
      return Object.fromEntries(found.map(([name, bytes]) => [name, bytes.toString()]));
    },
    isBetween: (found, _before, after) =>
      Object.entries(found as Record<string, string>).every(
        ([name, text]) => (after as Record<string, string>)[name] === text,
      ),
  };
}
