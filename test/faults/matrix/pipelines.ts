import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Activity, ComplianceEvent, CountBucket, Flow, FlowSink } from 'millrace';
import type { Found } from './compare.js';
import { ONLY_KILLED } from './only-killed.js';
import {
  committedBytes,
  committedGzipLines,
  committedLines,
  committedTexts,
  countsOf,
  csvCells,
  gzipLines,
  inTable,
  linesIn,
  linesOf,
  namesIn,
  parquetCells,
  parquetRows,
  postsOf,
  postsOfLines,
  rowsOf,
  textsIn,
} from './outputs.js';
import {
  type Attempt,
  at,
  COLUMNS,
  checkpointed,
  dates,
  filesAt,
  type Pipeline,
  paced,
  searchInto,
  searchOf,
} from './pipeline.js';
import { COMPLIANCE_SINCE_MS, minuteOf, NOW, QUERY, REPLAY_CHUNK_MS, WINDOWS } from './windows.js';

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

const CELLS = ['id', 'text', 'author_id', 'lang'] as const;

function storedInto(attempt: Attempt, sink: FlowSink<Activity, unknown>) {
  const { activities, dedupe, gunzip, jsonLines, localFiles, pipeline } = attempt.millrace;
  const source = localFiles(attempt.input);
  return pipeline(source, gunzip(), jsonLines(), activities(), dedupe(), sink, {
    signal: attempt.signal,
  });
}

const inThreads = (attempt: Attempt, name: string) => ({
  path: at(attempt, name),
  ...checkpointed(attempt),
  workers: 2,
});

export const PIPELINES = {
  search: {
    run: attempt => searchInto(attempt, filesAt(attempt, '{day}.jsonl')),
    found: out => postsOfLines(out),
  },
  counts: {
    run: attempt =>
      attempt.millrace.pipeline(
        attempt.millrace.counts(attempt.account, {
          product: 'fullarchive',
          query: QUERY,
          bucket: 'day',
          ...dates(WINDOWS.counts),
          resume: attempt.resume,
        }),
        paced<CountBucket>(attempt),
        filesAt<CountBucket>(attempt, 'counts.jsonl'),
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
    // A file that has its final name is complete, so all of its posts are committed.
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
        filesAt<Activity>(attempt, '{day}.jsonl'),
        { signal: attempt.signal },
      ),
    found: out => postsOfLines(out),
  },
  'gzip files': {
    run: attempt => searchInto(attempt, filesAt(attempt, '{day}.jsonl.gz')),
    found: async out => postsOf(await gzipLines(out, '.jsonl.gz')),
    committed: async out => postsOf(await committedGzipLines(out)),
  },
  csv: {
    run: attempt =>
      searchInto(
        attempt,
        attempt.millrace.csv({
          path: at(attempt, '{day}.csv'),
          columns: [...COLUMNS],
          ...checkpointed(attempt),
        }),
      ),
    found: async out => rowsOf(await textsIn(out, '.csv')),
    committed: async out => rowsOf(await committedTexts(out)),
  },
  parquet: {
    run: attempt =>
      searchInto(
        attempt,
        attempt.millrace.parquet({
          path: at(attempt, 'posts.parquet'),
          columns: [...COLUMNS],
          checkpoint: at(attempt, 'checkpoint.json'),
          maxBytes: 20_000,
        }),
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
      const { csv, files, tee } = attempt.millrace;
      return searchInto(
        attempt,
        tee(
          files<Activity>({ path: at(attempt, '{day}.jsonl'), commitIntervalMs: 0 }),
          csv({ path: at(attempt, 'posts.csv'), columns: [...COLUMNS], commitIntervalMs: 0 }),
          { checkpoint: at(attempt, 'checkpoint.json') },
        ),
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
      const { dedupe, merge, pipeline } = attempt.millrace;
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
        filesAt<Activity>(attempt, '{day}.jsonl'),
        { signal: attempt.signal },
      );
    },
    found: out => postsOfLines(out),
  },
  engagement: {
    run: attempt => {
      const { activities, engagement, gunzip, jsonLines, localFiles, map, pipeline, tap } =
        attempt.millrace;
      return pipeline(
        localFiles(attempt.input),
        gunzip(),
        jsonLines(),
        activities(),
        // Without this delay, a file could appear before the posts of the previous file were
        // requested. With it, each file causes a separate request.
        tap<Activity>(() => sleep(1)),
        engagement(attempt.account, { waitMs: 0 }),
        map(({ activity: { id: id_str }, totals, errors }) => {
          const { favorites, retweets, replies } = totals ?? {};
          return { id_str, favorites, retweets, replies, errors: errors.length };
        }),
        paced(attempt),
        attempt.millrace.files({ path: at(attempt, 'totals.jsonl'), ...checkpointed(attempt) }),
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
  'stored files, gzip by threads': {
    run: attempt =>
      storedInto(attempt, attempt.millrace.files(inThreads(attempt, '{day}.jsonl.gz'))),
    found: async out => postsOf(await gzipLines(out, '.jsonl.gz')),
    committed: async out => postsOf(await committedGzipLines(out)),
  },
  'stored files, csv by threads': {
    run: attempt =>
      storedInto(
        attempt,
        attempt.millrace.csv({ ...inThreads(attempt, '{day}.csv'), columns: CELLS }),
      ),
    found: async out => csvCells(await textsIn(out, '.csv')),
    committed: async out => csvCells(await committedTexts(out)),
  },
  'stored files, parquet by threads': {
    run: attempt =>
      storedInto(
        attempt,
        attempt.millrace.parquet({
          ...inThreads(attempt, '{day}.parquet'),
          columns: CELLS,
          rowGroup: 20,
        }),
      ),
    found: async out => {
      const names = await namesIn(out, '.parquet');
      const files = names.map(async name => parquetCells(await readFile(path.join(out, name))));
      return (await Promise.all(files)).flat();
    },
    committed: async out => {
      const files = await committedBytes(out);
      return (await Promise.all(files.map(({ bytes }) => parquetCells(bytes)))).flat();
    },
  },
  'stored files, tee by threads': {
    run: attempt => {
      const { csv, files, tee } = attempt.millrace;
      const workers = 2;
      return storedInto(
        attempt,
        tee(
          files<Activity>({ path: at(attempt, '{day}.jsonl.gz'), commitIntervalMs: 0, workers }),
          csv({ path: at(attempt, '{day}.csv'), columns: CELLS, commitIntervalMs: 0, workers }),
          { checkpoint: at(attempt, 'checkpoint.json') },
        ),
      );
    },
    found: async out => [
      ...postsOf(await gzipLines(out, '.jsonl.gz')),
      ...inTable(csvCells(await textsIn(out, '.csv'))),
    ],
    committed: async out => [
      ...postsOf(await committedGzipLines(out, '.jsonl.gz')),
      ...inTable(csvCells(await committedTexts(out, '.csv'))),
    ],
  },
  'stored files, deletions by threads': {
    run: async attempt => {
      const { files, gunzip, jsonLines, activities, localFiles, openTombstones, pipeline } =
        attempt.millrace;
      await using tombstones = await openTombstones(deletedBeside(attempt.input), {
        readOnly: true,
      });
      await pipeline(
        localFiles(attempt.input),
        gunzip(),
        jsonLines(),
        activities(),
        attempt.millrace.withoutDeleted(tombstones),
        files(inThreads(attempt, '{day}.jsonl.gz')),
        { signal: attempt.signal },
      );
    },
    found: async out => postsOf(await gzipLines(out, '.jsonl.gz')),
    committed: async out => postsOf(await committedGzipLines(out)),
  },
  'stored files, rules by threads': {
    run: async attempt => {
      const { dedupe, files, gunzip, jsonLines, activities, localFiles, matchRules, pipeline } =
        attempt.millrace;
      const rules = JSON.parse(await readFile(rulesBeside(attempt.input), 'utf8'));
      await pipeline(
        localFiles(attempt.input),
        gunzip(),
        jsonLines(),
        activities(),
        dedupe(),
        matchRules(rules, { dropUnmatched: true }),
        attempt.millrace.routeByTag(),
        files(inThreads(attempt, '{tag}.jsonl')),
        { signal: attempt.signal },
      );
    },
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
    // The items are not compared here, because `ComplianceEvents` checks them.
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
  ...ONLY_KILLED,
} satisfies Record<string, Pipeline>;

export const deletedBeside = (input: string) => path.join(path.dirname(input), 'deleted');

export const rulesBeside = (input: string) => path.join(path.dirname(input), 'rules.json');

/** A replay connection keeps this many bytes in memory. Further data goes to disk. */
const REPLAY_MEMORY = 4 * 2 ** 20;

/**
 * Returns the items that a pipeline has committed. A pipeline without a `committed` function writes
 * posts as lines.
 */
export async function committedOf(pipeline: Pipeline, out: string): Promise<Found> {
  return pipeline.committed?.(out) ?? postsOf(await committedLines(out));
}

export type RowName = keyof typeof PIPELINES;

const WRITTEN_IN_THREADS: readonly RowName[] = [
  'stored files, threads',
  'job files, threads',
  'stored files, rules by threads',
];

export const IN_THREADS: readonly RowName[] = [
  ...WRITTEN_IN_THREADS,
  'stored files, gzip by threads',
  'stored files, csv by threads',
  'stored files, parquet by threads',
  'stored files, tee by threads',
  'stored files, deletions by threads',
];

/**
 * Throws if no thread was used. If the main thread did the work, the output would be right, but the
 * test would not cover threads.
 */
export function mustUseThreads(
  row: RowName,
  {
    threadWrites,
    threadMessages,
  }: { readonly threadWrites: number; readonly threadMessages: number },
): void {
  if (WRITTEN_IN_THREADS.includes(row) && threadWrites === 0)
    throw new Error('No worker thread has written a post');
  if (IN_THREADS.includes(row) && threadMessages === 0)
    throw new Error('No worker thread has sent anything');
}
