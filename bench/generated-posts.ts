import { messageOf, start, stop } from './children.js';
import { median } from './measure.js';
import type { Bar, Study } from './question.js';

interface Done {
  /** Durations in ms: the first page, the first counts of 30 days, and the same counts again. */
  readonly pageMs: number;
  readonly firstMs: number;
  readonly againMs: number;
  readonly posts: number;
  readonly peakMegabytes: number;
}

const QUERIES = [
  'coffee',
  'coffee -has:links',
  'from:sanareads3',
  '"good morning"',
  'coffee -"good morning"',
  'morbenlo',
] as const;

export const generatedPosts: Study = {
  name: 'generated-posts',
  title: 'Local service: a page and a month of counts from generated posts',
  async run({ quick }) {
    const rounds = quick ? 1 : 5;
    const runs = new Map<string, Done[]>(QUERIES.map(query => [query, []]));
    for (let round = 0; round < rounds; round++)
      for (const query of QUERIES) runs.get(query)?.push(await measured(query));
    return {
      markdown: [
        `60 posts a minute, 30 days: 2.6 million posts. Milliseconds over HTTP, medians of ${rounds}, each in a new process: the newest`,
        '100 posts, then counts by day, then the same counts again.',
        '',
        '| | posts | first page | counts | counts again | peak MiB |',
        '| --- | ---: | ---: | ---: | ---: | ---: |',
        ...[...runs].map(([query, done]) => line(query, done)),
        '',
      ].join('\n'),
      charts: [
        {
          ...{ name: 'generated-posts', title: generatedPosts.title, unit: 'ms', better: 'less' },
          logarithmic: true,
          bars: [...runs].flatMap(([query, done]): Bar[] => [
            { panel: query, name: 'first page', kind: 'ours', values: done.map(one => one.pageMs) },
            { panel: query, name: 'counts', kind: 'ours', values: done.map(one => one.firstMs) },
            { panel: query, name: 'again', kind: 'ours', values: done.map(one => one.againMs) },
          ]),
        },
      ],
    };
  },
};

async function measured(query: string): Promise<Done> {
  const child = start('generated-posts/service.js', query);
  try {
    return await messageOf<Done>(child);
  } finally {
    await stop(child);
  }
}

function line(query: string, done: readonly Done[]): string {
  const middle = (read: (one: Done) => number) => median(done.map(read)).toFixed(0);
  const cells = [
    `\`${query}\``,
    (done[0]?.posts ?? 0).toLocaleString('en'),
    middle(one => one.pageMs),
    middle(one => one.firstMs),
    middle(one => one.againMs),
    middle(one => one.peakMegabytes),
  ];
  return `| ${cells.join(' | ')} |`;
}
