import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import * as zlib from 'node:zlib';
import { answerOfChild, measureWork } from './children.js';
import { CORPORA, type Corpus, type NamedCorpus } from './corpus.js';
import { median, touchMemory } from './measure.js';
import type { Chart, Places, Sample, Study, Work } from './question.js';

const ROUNDS = 3;

interface Writer {
  readonly name: string;
  readonly module: string;
  readonly query?: string;
}

const WRITERS: readonly Writer[] = [
  { name: '*limit: two threads that only inflate*', module: 'tables/inflate' },
  { name: '*limit: two threads that only inflate and write*', module: 'stored-files/limit' },
  { name: 'JSON lines, by tag', module: 'stored-files/millrace' },
  { name: '*limit: two threads that only inflate and deflate, level 6*', module: 'tables/deflate' },
  { name: 'JSON lines, gzip', module: 'tables/json-lines', query: 'json-lines' },
  ...('zstdCompress' in zlib
    ? [
        {
          name: '*limit: two threads that only inflate and write zstd*',
          module: 'tables/compress-zstd',
        },
        { name: 'JSON lines, zstd', module: 'tables/json-lines-zstd', query: 'json-lines' },
      ]
    : []),
  { name: 'CSV, all columns', module: 'tables/csv', query: 'csv' },
  { name: 'CSV, twelve columns', module: 'tables/csv-twelve', query: 'csv' },
  {
    name: 'DuckDB to CSV, twelve columns, two threads',
    module: 'tables/duckdb-csv',
    query: 'csv',
  },
  { name: 'Parquet, all columns, snappy', module: 'tables/parquet', query: 'parquet' },
  { name: 'Parquet, all columns, gzip', module: 'tables/parquet-gzip', query: 'parquet' },
  { name: 'Parquet, twelve columns', module: 'tables/parquet-twelve', query: 'parquet' },
  {
    name: 'DuckDB to Parquet, twelve columns, two threads',
    module: 'tables/duckdb',
    query: 'parquet',
  },
];

const COMPARED: readonly Comparison[] = [
  { ours: 'stored-files/millrace', other: 'stored-files/limit' },
  { ours: 'tables/json-lines', other: 'tables/deflate' },
  { ours: 'tables/parquet-twelve', other: 'tables/duckdb' },
  { ours: 'tables/parquet', other: 'tables/duckdb' },
  { ours: 'tables/csv-twelve', other: 'tables/duckdb-csv' },
  { ours: 'tables/csv', other: 'tables/duckdb-csv' },
];

interface Comparison {
  readonly ours: string;
  readonly other: string;
}

interface Asked {
  readonly seconds: number;
  readonly posts: number;
  readonly followers: number;
}

interface Written {
  readonly bytes: number;
  readonly asked: Asked | undefined;
}

export const tables: Study = {
  name: 'tables',
  title: 'Stored posts to CSV and Parquet, and a query over each',
  async run({ quick, places }) {
    const files = quick ? 24 : 144;
    const rounds = quick ? 1 : ROUNDS;
    const parts: string[] = [];
    const ratios: CorpusRatios[] = [];
    for (const corpus of CORPORA) {
      const made = await corpus.make({ files });
      const measured = await measureOn(made, { rounds, places, corpus });
      parts.push(`### ${titleOf(corpus)}\n`, tableOf(made, measured, rounds));
      ratios.push({ corpus: corpus.name, ratios: COMPARED.map(pair => ratioOf(pair, measured)) });
    }
    return { markdown: [ratioTable(ratios), ...parts].join('\n'), charts: [ratioChart(ratios)] };
  },
};

interface Measured {
  readonly writer: Writer;
  readonly samples: readonly Sample[];
  readonly written: Written;
}

async function measureOn(
  { files, posts, bytes }: Corpus,
  {
    rounds,
    places,
    corpus: { format },
  }: { readonly rounds: number; readonly places: Places; readonly corpus: NamedCorpus },
): Promise<readonly Measured[]> {
  const samples = new Map<Writer, Sample[]>(WRITERS.map(writer => [writer, []]));
  const written = new Map<Writer, Written>();
  for (let round = 0; round < rounds; round++)
    for (const writer of WRITERS) {
      const out = path.join(places.scratch, 'tables');
      await rm(out, { recursive: true, force: true });
      await mkdir(out, { recursive: true });
      if (places.inMemory) await touchMemory(out, bytes);
      const work: Work = { files, out, posts, format, compared: false };
      samples.get(writer)?.push(await measureWork(writer.module, work));
      if (round === 0) written.set(writer, await askedOf(writer, work));
      await rm(out, { recursive: true, force: true });
    }
  const answers = new Set<string>();
  for (const { asked } of written.values())
    if (asked !== undefined) answers.add(JSON.stringify([asked.posts, asked.followers]));
  if (answers.size !== 1) throw new Error(`The answers differ: ${[...answers].join(' ')}`);
  return WRITERS.map(writer => ({
    writer,
    samples: samples.get(writer) as Sample[],
    written: written.get(writer) as Written,
  }));
}

function tableOf(
  { files, posts, bytes }: Corpus,
  measured: readonly Measured[],
  rounds: number,
): string {
  const perPost = (seconds: number) => ((seconds * 1e6) / posts).toFixed(1);
  const rows = measured.map(({ writer, samples, written: { bytes: size, asked } }) => {
    const speeds = samples.map(({ seconds }) => posts / seconds / 1000);
    const cells = [
      writer.name,
      median(speeds).toFixed(0),
      `${Math.min(...speeds).toFixed(0)} to ${Math.max(...speeds).toFixed(0)}`,
      perPost(median(samples.map(({ cpuSeconds }) => cpuSeconds))),
      perPost(median(samples.map(({ mainSeconds = Number.NaN }) => mainSeconds))),
      Math.max(...samples.map(({ peakMegabytes }) => peakMegabytes)).toFixed(0),
      asked === undefined ? '' : (size / 1e6).toFixed(1),
      asked === undefined ? '' : (asked.seconds * 1000).toFixed(0),
    ];
    return `| ${cells.join(' | ')} |`;
  });
  return [
    `${files.length} gzip files, ${posts.toLocaleString('en')} posts, ${(bytes / 1e6).toFixed(0)} MB of JSON; medians of ${rounds}, in turns; the highest peak.`,
    'The query, by DuckDB, asks for posts and mean followers by language, best of three; all answers are the same.',
    '',
    '| | k posts/s | spread | CPU, µs a post | main thread, µs a post | peak MiB | MB | query, ms |',
    '| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |',
    ...rows,
    '',
  ].join('\n');
}

interface CorpusRatios {
  readonly corpus: string;
  /** The relative speed of each comparison, in the order of `COMPARED`. */
  readonly ratios: readonly number[];
}

function ratioOf({ ours, other }: Comparison, measured: readonly Measured[]): number {
  const secondsOf = (module: string) =>
    median(
      measured
        .filter(({ writer }) => writer.module === module)
        .flatMap(({ samples }) => samples.map(({ seconds }) => seconds)),
    );
  return secondsOf(other) / secondsOf(ours);
}

function nameOf(module: string): string {
  return WRITERS.find(writer => writer.module === module)?.name ?? module;
}

/**
 * Returns a table with the worst and the best corpus of each comparison. The ratio of the worst
 * corpus is an estimate of the lower bound for any corpus.
 */
function ratioTable(corpora: readonly CorpusRatios[]): string {
  const rows = COMPARED.map(({ ours, other }, index) => {
    const ratios = corpora.map(({ ratios }) => ratios[index] as number);
    const cells = [
      nameOf(ours),
      nameOf(other),
      Math.min(...ratios),
      Math.max(...ratios),
      ...ratios,
    ];
    return `| ${cells.map(cell => (typeof cell === 'number' ? cell.toFixed(2) : cell)).join(' | ')} |`;
  });
  return [
    'Speed compared with the other: 2.00 means twice as fast.',
    '',
    `| | compared with | worst | best | ${corpora.map(({ corpus }) => corpus).join(' | ')} |`,
    `| --- | --- | ${['', '', ...corpora].map(() => '---:').join(' | ')} |`,
    ...rows,
    '',
  ].join('\n');
}

/**
 * Returns a chart of each comparison on all corpora. The worst corpus of a comparison comes first,
 * because the summary uses the first bar.
 */
function ratioChart(corpora: readonly CorpusRatios[]): Chart {
  const bars = COMPARED.flatMap(({ ours }, index) =>
    corpora
      .map(({ corpus, ratios }) => ({ corpus, ratio: ratios[index] as number }))
      .toSorted((a, b) => a.ratio - b.ratio)
      .map(({ corpus, ratio }) => ({
        name: corpus,
        panel: nameOf(ours),
        kind: 'ours' as const,
        values: [ratio],
      })),
  );
  return {
    name: 'tables',
    title: 'Stored posts, on each corpus: speed compared with DuckDB or a limit',
    unit: 'times its speed',
    better: 'more',
    bars,
  };
}

function titleOf({ name, about }: NamedCorpus): string {
  return `${name[0]?.toUpperCase()}${name.slice(1)} corpus: ${about}`;
}

async function askedOf({ query }: Writer, work: Work): Promise<Written> {
  const bytes = await sizeOf(work.out);
  const script = path.join('tables', 'query');
  return {
    bytes,
    asked: query === undefined ? undefined : await answerOfChild<Asked>(script, [query], work),
  };
}

async function sizeOf(folder: string): Promise<number> {
  const sizes = (await readdir(folder)).map(
    async name => (await stat(path.join(folder, name))).size,
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
