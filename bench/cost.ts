import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { storedCorpus } from './corpus.js';
import { measure, median } from './measure.js';
import type { Bar, Digest, Places, Question, Study } from './question.js';

const TIMES = [1, 10, 100];
const FILES = 24;
const RUNS = 3;

/** Measures how the cost of the raw path grows with the size of the input. */
export const cost: Study = {
  name: 'cost',
  title: 'Cost as work grows: the raw path at 1, 10 and 100 times the corpus',
  async run({ quick, places }) {
    const rows: string[] = [];
    const bars: Bar[] = [];
    for (const times of TIMES.slice(0, quick ? 2 : 3)) {
      const { input, samples } = await pass(times, places);
      const seconds = samples.map(sample => sample.seconds);
      const cpu = median(samples.map(sample => sample.cpuSeconds));
      rows.push(
        `| ${times} | ${input.files.length.toLocaleString('en')} | ${(input.bytes / 1e9).toFixed(2)} | ` +
          `${input.posts.toLocaleString('en')} | ${median(seconds).toFixed(2)} | ${cpu.toFixed(2)} | ` +
          `${((cpu * 1e9) / input.bytes).toFixed(2)} | ` +
          `${Math.max(...samples.map(sample => sample.peakMegabytes)).toFixed(0)} |`,
      );
      bars.push({
        name: `${times} times`,
        kind: 'ours',
        values: samples.map(sample => input.bytes / 1e6 / sample.seconds),
      });
    }
    return {
      markdown: [
        `${FILES} gzip files again and again, in one pipeline: gunzip, frame, dedupe, route by tag, and lines that`,
        'are gathered as `files` does, then thrown away. The window of `dedupe` is 10,000 ids, fewer than the corpus has, so a post',
        'passes once in every round; as many came out as that makes, and not one more.',
        '',
        '| times | files | GB of JSON | posts | seconds | cpu s | cpu ns a byte | peak MiB |',
        '| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |',
        ...rows,
        '',
      ].join('\n'),
      charts: [
        {
          name: 'cost',
          title: 'Raw path at 1, 10 and 100 times the corpus',
          unit: 'MB/s',
          better: 'more',
          bars,
        },
      ],
    };
  },
};

async function pass(times: number, places: Places) {
  const corpus = await storedCorpus({ files: FILES });
  const expected = (corpus.posts - corpus.duplicates) * times;
  const question: Question = {
    name: 'cost',
    title: `${times} times`,
    async prepare() {
      return {
        files: Array.from({ length: times }, () => corpus.files).flat(),
        bytes: corpus.bytes * times,
        posts: corpus.posts * times,
        note: '',
      };
    },
    variants: [{ name: 'millrace', module: 'millrace' }],
    async digest(folder): Promise<Digest> {
      const { posts } = JSON.parse(await readFile(path.join(folder, 'passed.json'), 'utf8'));
      if (posts !== expected) throw new Error(`cost: ${posts} posts passed, not ${expected}`);
      return { posts };
    },
  };
  const { input, measured } = await measure(question, {
    quick: false,
    runs: times > 10 ? 1 : RUNS,
    places: { ...places, inMemory: false },
  });
  return { input, samples: measured[0]?.samples ?? [] };
}
