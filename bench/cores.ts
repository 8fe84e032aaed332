import { type Corpus, secondCorpus, storedCorpus } from './corpus.js';
import { measure, median } from './measure.js';
import type { Input, Places, Question, Study } from './question.js';

const FILES = [48, 144] as const;
const RUNS = 5;
const CORES = [2, 4, 8, 16];

/**
 * Predicts how long reading stored files would take on more cores. The prediction uses the CPU time
 * per post, which is measured for the main thread and for all other threads together. Inputs of two
 * sizes separate the cost per post from the cost of starting.
 */
export const cores: Study = {
  name: 'cores',
  title: 'Stored files on more cores: predicted from measured parts',
  async run({ quick, places }) {
    const rows = [];
    for (const [name, corpusOf] of [
      ['first', storedCorpus],
      ['second', secondCorpus],
    ] as const) {
      const [small, large] = [
        await cpuOf(await corpusOf({ files: FILES[0] }), quick, places),
        await cpuOf(await corpusOf({ files: FILES[1] }), quick, places),
      ];
      const posts = large.input.posts - small.input.posts;
      const main = ((large.main - small.main) * 1e6) / posts;
      const others = ((large.others - small.others) * 1e6) / posts;
      const bytes = large.input.bytes / large.input.posts;
      rows.push(
        `| ${name} | ${main.toFixed(2)} | ${others.toFixed(1)} | ${CORES.map(count => rate(count, main, others, bytes)).join(' | ')} |`,
      );
    }
    const columns = CORES.map(count => `${count} cores`);
    return {
      markdown: [
        `The plain pipeline of README, threads included, over ${FILES.join(' and ')} files; medians of ${quick ? 1 : RUNS}. A post costs what`,
        'the larger run takes more than the smaller one, divided by the posts that it has more. Predicted: thousand posts, and MB of',
        'JSON, a second; bounded by all cores, or by the main thread, which is marked *. Memory bandwidth and the disk are not in it.',
        '',
        `| corpus | main thread, µs a post | others, µs a post | ${columns.join(' | ')} |`,
        `| --- | ${['', '', ...columns].map(() => '---:').join(' | ')} |`,
        ...rows,
        '',
      ].join('\n'),
      charts: [],
    };
  },
};

function rate(count: number, main: number, others: number, bytes: number): string {
  const all = count / (main + others);
  const perMicrosecond = Math.min(all, 1 / main);
  const mark = perMicrosecond < all ? ' *' : '';
  return `${(perMicrosecond * 1e3).toFixed(0)}, ${(perMicrosecond * bytes).toFixed(0)}${mark}`;
}

async function cpuOf(corpus: Corpus, quick: boolean, places: Places) {
  const input: Input = { ...corpus, note: '' };
  const question: Question = {
    name: 'cores',
    folder: 'stored-files',
    title: '',
    prepare: async () => input,
    variants: [{ name: 'millrace', module: 'in-threads' }],
  };
  const { measured } = await measure(question, { quick, runs: quick ? 1 : RUNS, places });
  const samples = measured[0]?.samples ?? [];
  const main = median(samples.map(({ mainSeconds = Number.NaN }) => mainSeconds));
  const others = median(
    samples.map(({ cpuSeconds, mainSeconds = Number.NaN }) => cpuSeconds - mainSeconds),
  );
  return { input, main, others };
}
