import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { parquetReadObjects } from 'hyparquet';
import type {
  Account,
  Activity,
  ComplianceEvent,
  ComplianceGap,
  CountBucket,
  Cursor,
  Flow,
  Tombstones,
} from 'millrace';
import { hashOf, idOf } from './bare-client.js';
import type { Found } from './compare.js';
import { minuteOf, NOW, QUERY, REPLAY_CHUNK_MS, WINDOWS } from './windows.js';

export type Millrace = typeof import('millrace');

/** What one run of a user's script gets. Runs in this process and in children that are killed. */
export interface Attempt {
  readonly millrace: Millrace;
  readonly account: Account;
  /** Of the outputs. */
  readonly out: string;
  /** The job, or the folder of the stored files. */
  readonly input: string;
  /** Called for each item on its way to the sink, with its size where that is known; slows the consumer down. */
  readonly consume: (index: number, bytes?: number) => Promise<void> | void;
  /** Where its source begins, in place of a checkpoint. */
  readonly resume?: Cursor | undefined;
  readonly onGap?: ((gap: ComplianceGap) => void) | undefined;
  /** Called with each compliance event. */
  readonly onEvent?: ((event: ComplianceEvent) => unknown) | undefined;
  /** Called with the store of a compliance run, which has no end. */
  readonly onTombstones?: ((tombstones: Tombstones) => unknown) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Pipeline {
  /** A user's script: run again, it goes on. */
  run(attempt: Attempt): Promise<unknown>;
  /** All that a complete run has put out. */
  found(out: string): Promise<Found>;
  /** What is committed while it is incomplete. @default by the checkpoint */
  committed?(out: string): Promise<Found>;
}

const dates = ({ from, to }: { from: number; to: number }) => ({
  fromDate: minuteOf(from),
  toDate: minuteOf(to),
});

function searchOf(
  { millrace, account, resume }: Attempt,
  window = WINDOWS.search as { from: number; to: number },
) {
  return millrace.search(account, {
    ...{ product: 'fullarchive', query: QUERY, maxResults: 10, resume },
    ...dates(window),
  });
}

function paced<T>({ millrace, consume }: Attempt) {
  let index = 0;
  return millrace.tap<T>(item => consume(index++, (item as { raw?: Uint8Array }).raw?.length));
}

const at = ({ out }: Attempt, name: string) => path.join(out, name);
const checkpointed = (attempt: Attempt) => ({
  checkpoint: at(attempt, 'checkpoint.json'),
  commitIntervalMs: 0,
});

/** The whole post in one column, so that a row can be compared exactly. */
const COLUMNS = [
  'id',
  { name: 'raw', type: 'string', value: (post: Activity) => post.raw.toString() },
] as const;

async function postsFrom(attempt: Attempt, source: Flow<Uint8Array>, workers?: number) {
  const { millrace } = attempt;
  const { activities, dedupe, files, gunzip, jsonLines, pipeline } = millrace;
  const sink = files<Activity>({
    path: at(attempt, '{day}.jsonl'),
    ...checkpointed(attempt),
    ...(workers !== undefined && { workers }),
  });
  if (workers !== undefined)
    return pipeline(source, gunzip(), jsonLines(), activities(), dedupe(), sink, {
      signal: attempt.signal,
    });
  return pipeline(source, gunzip(), jsonLines(), activities(), dedupe(), paced(attempt), sink, {
    signal: attempt.signal,
  });
}

export const PIPELINES = {
  search: {
    run: attempt =>
      attempt.millrace.pipeline(
        searchOf(attempt),
        attempt.millrace.dedupe(),
        paced<Activity>(attempt),
        attempt.millrace.files({ path: at(attempt, '{day}.jsonl'), ...checkpointed(attempt) }),
        { signal: attempt.signal },
      ),
    found: out => postsOfLines(out),
  },
  counts: {
    run: attempt =>
      attempt.millrace.pipeline(
        attempt.millrace.counts(attempt.account, {
          ...{ product: 'fullarchive', query: QUERY, bucket: 'day' },
          ...dates(WINDOWS.counts),
          resume: attempt.resume,
        }),
        paced<CountBucket>(attempt),
        attempt.millrace.files({ path: at(attempt, 'counts.jsonl'), ...checkpointed(attempt) }),
        { signal: attempt.signal },
      ),
    found: async out => countsOf(await linesIn(out)),
    committed: async out => countsOf(await committedLines(out)),
  },
  'job files': {
    run: attempt => {
      const { millrace, account, input, resume } = attempt;
      return postsFrom(attempt, millrace.jobFiles(account, input, { resume }));
    },
    found: out => postsOfLines(out),
  },
  'job files, threads': {
    run: attempt => {
      const { millrace, account, input, resume } = attempt;
      return postsFrom(attempt, millrace.jobFiles(account, input, { resume }), 2);
    },
    found: out => postsOfLines(out),
  },
  'jobs.download': {
    run: ({ millrace, account, input, out, signal, consume }) => {
      let index = 0;
      return millrace.jobs.download(account, input, {
        folder: out,
        onFile: ({ bytes }) => consume(index++, bytes),
        signal,
      });
    },
    found: async out => postsOf(await gzipLines(out)),
    // A file that has its name is whole.
    committed: async out => postsOf(await gzipLines(out)),
  },
  replay: {
    run: attempt =>
      attempt.millrace.pipeline(
        attempt.millrace.replay(attempt.account, {
          streamType: 'firehose',
          ...dates(WINDOWS.replay),
          folder: at(attempt, 'spool'),
          timings: { firstChunkMs: REPLAY_CHUNK_MS, maxChunkMs: REPLAY_CHUNK_MS },
          resume: attempt.resume,
          maxMemory: REPLAY_MEMORY,
          onGap: attempt.onGap,
        }),
        paced<Activity>(attempt),
        attempt.millrace.files({ path: at(attempt, '{day}.jsonl'), ...checkpointed(attempt) }),
        { signal: attempt.signal },
      ),
    found: out => postsOfLines(out),
  },
  csv: {
    run: attempt =>
      attempt.millrace.pipeline(
        searchOf(attempt),
        attempt.millrace.dedupe(),
        paced<Activity>(attempt),
        attempt.millrace.csv({
          path: at(attempt, '{day}.csv'),
          columns: [...COLUMNS],
          ...checkpointed(attempt),
        }),
        { signal: attempt.signal },
      ),
    found: async out => rowsOf(await textsIn(out, '.csv')),
    committed: async out => rowsOf(await committedTexts(out)),
  },
  parquet: {
    run: attempt =>
      attempt.millrace.pipeline(
        searchOf(attempt),
        attempt.millrace.dedupe(),
        paced<Activity>(attempt),
        attempt.millrace.parquet({
          path: at(attempt, 'posts.parquet'),
          columns: [...COLUMNS],
          checkpoint: at(attempt, 'checkpoint.json'),
          maxBytes: 20_000,
        }),
        { signal: attempt.signal },
      ),
    found: async out => {
      const names = await namesIn(out, '.parquet');
      const files = names.map(async name => parquetRows(await readFile(path.join(out, name))));
      return (await Promise.all(files)).flat();
    },
    committed: async out => {
      const files = await committedBytes(out);
      return (await Promise.all(files.map(({ bytes }) => parquetRows(bytes)))).flat();
    },
  },
  tee: {
    run: attempt => {
      const { csv, dedupe, files, pipeline, tee } = attempt.millrace;
      return pipeline(
        searchOf(attempt),
        dedupe(),
        paced<Activity>(attempt),
        tee(
          files<Activity>({ path: at(attempt, '{day}.jsonl'), commitIntervalMs: 0 }),
          csv({ path: at(attempt, 'posts.csv'), columns: [...COLUMNS], commitIntervalMs: 0 }),
          { checkpoint: at(attempt, 'checkpoint.json') },
        ),
        { signal: attempt.signal },
      );
    },
    found: async out => [
      ...(await postsOfLines(out)),
      ...inTable(rowsOf(await textsIn(out, '.csv'))),
    ],
    committed: async out => [
      ...postsOf(linesOf((await committedTexts(out, '.jsonl')).join(''))),
      ...inTable(rowsOf(await committedTexts(out, '.csv'))),
    ],
  },
  merge: {
    run: attempt => {
      const { dedupe, files, merge, pipeline } = attempt.millrace;
      const { from, to } = WINDOWS.search;
      const middle = (from + to) / 2;
      return pipeline(
        merge(
          searchOf(attempt, { from, to: middle }),
          searchOf(attempt, { from: middle, to }),
          attempt.millrace.replay(attempt.account, {
            streamType: 'firehose',
            ...dates(WINDOWS.replay),
            folder: at(attempt, 'spool'),
            maxMemory: REPLAY_MEMORY,
          }),
        ),
        dedupe(),
        paced<Activity>(attempt),
        files({ path: at(attempt, '{day}.jsonl'), ...checkpointed(attempt) }),
        { signal: attempt.signal },
      );
    },
    found: out => postsOfLines(out),
  },
  'stored files': {
    run: attempt => postsFrom(attempt, attempt.millrace.localFiles(attempt.input)),
    found: out => postsOfLines(out),
  },
  'stored files, threads': {
    run: attempt => postsFrom(attempt, attempt.millrace.localFiles(attempt.input), 2),
    found: out => postsOfLines(out),
  },
  compliance: {
    run: async attempt => {
      const { compliance, intoTombstones, openTombstones, pipeline } = attempt.millrace;
      await using tombstones = await openTombstones(at(attempt, 'tombstones'));
      attempt.onTombstones?.(tombstones);
      await pipeline(
        compliance(attempt.account, {
          fromDate: minuteOf(NOW - COMPLIANCE_SINCE_MS),
          folder: at(attempt, 'spool'),
          onGap: attempt.onGap,
        }),
        attempt.millrace.tap<ComplianceEvent>(event => attempt.onEvent?.(event)),
        paced<ComplianceEvent>(attempt),
        intoTombstones(tombstones),
        { signal: attempt.signal },
      );
    },
    // `Compliance` of compliance.ts looks them up.
    found: async () => [],
    committed: async () => [],
  },
  applyCompliance: {
    run: async ({ millrace, out, input, signal }) => {
      await using tombstones = await millrace.openTombstones(input, { readOnly: true });
      await millrace.applyCompliance(out, tombstones, { signal });
    },
    found: async out => postsOf(await gzipLines(out)),
    committed: async out => postsOf(await gzipLines(out)),
  },
} satisfies Record<string, Pipeline>;

/** Of a connection, in bytes; more is on disk. */
const REPLAY_MEMORY = 4 * 2 ** 20;

/** How long before the present a compliance run begins. */
export const COMPLIANCE_SINCE_MS = 10 * 60_000;

/** Posts as rows of a table have keys of their own. */
export function inTable(found: Found): Found {
  return found.map(([id, hash]) => [`row ${id}`, hash]);
}

export function postsOf(lines: readonly string[]): Found {
  return lines.filter(line => !line.startsWith('{"info"')).map(line => [idOf(line), hashOf(line)]);
}

function countsOf(lines: readonly string[]): Found {
  return lines.map(line => {
    const [, period, count] = /^\{"timePeriod":"(\d{12})",.*"count":(\d+)/.exec(line) ?? [];
    if (period === undefined || count === undefined) throw new Error(`Not a count: ${line}`);
    return [period, count];
  });
}

function rowsOf(texts: readonly string[]): Found {
  return texts.flatMap(text => {
    const rows = parse(text, { columns: true }) as { id: string; raw: string }[];
    return rows.map(({ id, raw }) => [id, hashOf(raw)] as const);
  });
}

async function parquetRows(bytes: Buffer): Promise<Found> {
  const { buffer, byteOffset, length } = bytes;
  const file = buffer.slice(byteOffset, byteOffset + length) as ArrayBuffer;
  const rows = (await parquetReadObjects({ file })) as { id: bigint | string; raw: string }[];
  return rows.map(({ id, raw }) => [String(id), hashOf(raw)]);
}

/** The posts of all lines below a folder. */
export async function postsOfLines(out: string): Promise<Found> {
  return postsOf(await linesIn(out));
}

async function linesIn(out: string): Promise<string[]> {
  return (await textsIn(out, '.jsonl')).flatMap(linesOf);
}

function linesOf(text: string): string[] {
  if (text === '') return [];
  if (!text.endsWith('\n')) throw new Error(`The last line is cut: ${text.slice(-80)}`);
  return text.slice(0, -1).split('\n');
}

async function namesIn(out: string, suffix: string): Promise<string[]> {
  const names = await readdir(out, { recursive: true }).catch(() => []);
  return names.filter(name => name.endsWith(suffix)).toSorted();
}

async function textsIn(out: string, suffix: string): Promise<string[]> {
  const names = await namesIn(out, suffix);
  return Promise.all(names.map(name => readFile(path.join(out, name), 'utf8')));
}

async function gzipLines(out: string): Promise<string[]> {
  const names = await namesIn(out, '.json.gz');
  const texts = await Promise.all(
    names.map(async name => gunzipSync(await readFile(path.join(out, name))).toString()),
  );
  return texts.flatMap(text => text.split('\n').filter(line => line.trim() !== ''));
}

interface CommittedFile {
  readonly name: string;
  readonly bytes: number;
}

/** The files of the checkpoint, read by this code alone. */
export async function committedFiles(out: string): Promise<CommittedFile[]> {
  let text: string;
  try {
    text = await readFile(path.join(out, 'checkpoint.json'), 'utf8');
  } catch (error) {
    // Before the first commit. `RowRun` knows whether there was one.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  const { files } = JSON.parse(text) as { files: { path: string; bytes: number }[] };
  return files.map(({ path: name, bytes }) => ({ name, bytes }));
}

async function committedBytes(
  out: string,
  suffix = '',
): Promise<{ readonly name: string; readonly bytes: Buffer }[]> {
  const files = (await committedFiles(out)).filter(({ name }) => name.endsWith(suffix));
  return Promise.all(
    files.map(async ({ name, bytes }) => {
      const file = path.resolve(out, name);
      const content = await readFile(`${file}.part`).catch(() => readFile(file));
      if (content.length < bytes) throw new Error(`${name} is shorter than its checkpoint says`);
      return { name, bytes: content.subarray(0, bytes) };
    }),
  );
}

async function committedTexts(out: string, suffix = ''): Promise<string[]> {
  return (await committedBytes(out, suffix)).map(({ bytes }) => bytes.toString());
}

export async function committedLines(out: string): Promise<string[]> {
  return (await committedTexts(out)).flatMap(linesOf);
}

/** What is committed, for a pipeline that writes lines of posts. */
export async function committedOf(pipeline: Pipeline, out: string): Promise<Found> {
  return pipeline.committed?.(out) ?? postsOf(await committedLines(out));
}

export function slowly(ms: number): (index: number) => Promise<void> | void {
  return ms === 0 ? () => {} : () => sleep(ms);
}

export type RowName = keyof typeof PIPELINES;
