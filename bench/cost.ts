import { mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { measureWork } from './children.js';
import { type Corpus, storedCorpus } from './corpus.js';
import type { Bar, Report, Sample, Study, Work } from './question.js';

/** How many times the files are read. For 144 files, this gives 0.7, 7 and 29 GB of JSON. */
const TIMES = [1, 10, 40];
const FILES = 144;

interface Pipeline {
  readonly name: string;
  readonly module: string;
}

const PIPELINES: readonly Pipeline[] = [
  { name: 'JSON lines by tag', module: 'stored-files/millrace' },
  { name: 'JSON lines, gzip', module: 'tables/json-lines' },
  { name: 'CSV, twelve columns', module: 'tables/csv-twelve' },
  { name: 'Parquet, twelve columns', module: 'tables/parquet-twelve' },
  { name: 'item by item, output discarded', module: 'cost/items' },
];

export const cost: Study = {
  name: 'cost',
  title: 'Cost as work grows: pipelines over 0.7, 7 and 29 GB of JSON',
  async run({ quick, places }) {
    const corpus = await storedCorpus({ files: quick ? 24 : FILES });
    const rows: Row[] = [];
    for (const pipeline of PIPELINES)
      for (const times of TIMES.slice(0, quick ? 2 : TIMES.length))
        rows.push(await rowOf(pipeline, times, corpus, path.join(places.disk, 'cost')));
    return reportOf(rows, corpus);
  },
};

interface Row {
  readonly pipeline: Pipeline;
  readonly times: number;
  readonly gigabytes: number;
  readonly sample: Sample;
}

async function rowOf(pipeline: Pipeline, times: number, corpus: Corpus, out: string): Promise<Row> {
  await mkdir(out, { recursive: true });
  try {
    const work: Work = {
      files: Array.from({ length: times }, () => corpus.files).flat(),
      posts: corpus.posts * times,
      compared: true,
      out,
    };
    const sample = await measureWork(pipeline.module, work);
    if (pipeline.module === 'cost/items') await checkItems(out, corpus, times);
    return { pipeline, times, gigabytes: (corpus.bytes * times) / 1e9, sample };
  } finally {
    await rm(out, { recursive: true, force: true });
  }
}

/**
 * Checks the number of posts that have passed. Each post passes once in every repetition of the
 * files, because `dedupe` remembers fewer ids than the corpus has.
 */
async function checkItems(out: string, corpus: Corpus, times: number): Promise<void> {
  const { posts } = JSON.parse(await readFile(path.join(out, 'passed.json'), 'utf8'));
  const expected = (corpus.posts - corpus.duplicates) * times;
  if (posts !== expected) throw new Error(`cost: ${posts} posts passed, not ${expected}`);
}

function reportOf(rows: readonly Row[], corpus: Corpus): Report {
  const lines = rows.map(({ pipeline, times, gigabytes, sample }) => {
    const cells = [
      pipeline.name,
      gigabytes.toFixed(1),
      ((corpus.posts * times) / 1e6).toFixed(2),
      sample.seconds.toFixed(1),
      ((gigabytes * 1000) / sample.seconds).toFixed(0),
      sample.cpuSeconds.toFixed(1),
      sample.peakMegabytes.toFixed(0),
      sample.openFiles ?? '',
    ];
    return `| ${cells.join(' | ')} |`;
  });
  const bars = rows.map(
    ({ pipeline, gigabytes, sample }): Bar => ({
      name: `${pipeline.name}, ${gigabytes.toFixed(1)} GB`,
      kind: 'ours',
      values: [(gigabytes * 1000) / sample.seconds],
    }),
  );
  return {
    markdown: [
      `${corpus.files.length} gzip files, read once or repeatedly in one pipeline that writes to a disk; one run each. The last pipeline has stages`,
      'that run item by item on the main thread, and discards its output.',
      '',
      '| | GB of JSON | million posts | seconds | MB/s | cpu s | peak MiB | open files |',
      '| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |',
      ...lines,
      '',
    ].join('\n'),
    charts: [
      {
        name: 'cost',
        title: 'Pipelines over 0.7, 7 and 29 GB of JSON',
        unit: 'MB/s',
        better: 'more',
        bars,
      },
    ],
  };
}
