import { messageOf, start, stop } from './children.js';
import { median } from './measure.js';
import type { Chart, Study } from './question.js';
import type { Done, Task } from './search/task.js';

interface Case {
  readonly name: string;
  readonly latencyMs: number;
  readonly pageMs: number;
  readonly variants: readonly Variant[];
}

interface Variant {
  readonly name: string;
  readonly module: 'millrace' | 'plain-loop';
  readonly slices: number;
}

interface Row {
  readonly panel: string;
  readonly variant: Variant;
  readonly runs: readonly Done[];
  readonly most: number;
}

const LOOP: Variant = {
  name: 'a sequential loop: fetch, JSON.parse',
  module: 'plain-loop',
  slices: 1,
};
const ONE: Variant = { name: 'millrace', module: 'millrace', slices: 1 };
const SLICED: Variant = { name: 'millrace, slices of two pages', module: 'millrace', slices: 0 };

const CASES: readonly Case[] = [
  {
    name: '50 ms of latency, a consumer that takes 100 ms for a page',
    ...{ latencyMs: 50, pageMs: 100, variants: [LOOP, ONE] },
  },
  { name: '50 ms of latency', latencyMs: 50, pageMs: 0, variants: [LOOP, ONE, SLICED] },
  { name: '500 ms of latency', latencyMs: 500, pageMs: 0, variants: [LOOP, SLICED] },
];
const POSTS_A_PAGE = 500;

/** The real service allows 20 requests per second. The server here only counts the requests. */
export const search: Study = {
  name: 'search',
  title: 'Search: pages of 500 posts',
  async run({ quick }) {
    const pages = quick ? 8 : 48;
    const rows: Row[] = [];
    for (const one of quick ? CASES.slice(0, 2) : CASES)
      rows.push(...(await measured(one, pages, quick)));
    const markdown = [
      `${pages} pages of ${POSTS_A_PAGE} posts, from a server in a process of its own that has compressed them ` +
        `beforehand and waits before it answers. Seconds, medians${quick ? '' : '; each variant has run once before'}. Ids and ` +
        'their order were the same each time. The last column is what the server saw: the service allows 20.',
      '',
      '| | s | spread | pages/s | CPU s | speed / loop | most requests in a second |',
      '|---|---:|---:|---:|---:|---:|---:|',
      ...rows.flatMap((row, i) => [
        ...(rows[i - 1]?.panel === row.panel ? [] : [`| *${row.panel}* | | | | | | |`]),
        line(row, rows, pages),
      ]),
      '',
    ].join('\n');
    return { markdown, charts: [chartOf(rows, pages)] };
  },
};

async function measured({ name, ...one }: Case, pages: number, quick: boolean): Promise<Row[]> {
  const server = start('search/server.js', pages, one.latencyMs);
  const address = await messageOf<string>(server);
  const clients = one.variants.map(variant => ({
    variant,
    child: start(`search/${variant.module}.js`),
    runs: [] as Done[],
    most: 0,
  }));
  const to = Date.UTC(2022, 9, 4);
  let ids: string | undefined;
  for (let round = quick ? 0 : -1; round < (quick ? 1 : 3); round++)
    for (const client of round % 2 === 0 ? clients : clients.toReversed()) {
      const task: Task = {
        ...{ address, pageMs: one.pageMs, slices: client.variant.slices || pages / 2 },
        ...{ fromDate: timestamp(to - pages * 60_000), toDate: timestamp(to) },
      };
      const done = messageOf<Done>(client.child);
      client.child.send(task);
      const run = await done;
      ids ??= run.ids;
      if (run.posts !== pages * POSTS_A_PAGE || run.ids !== ids)
        throw new Error(`search: ${client.variant.name} found other posts: ${run.posts}`);
      const seen = messageOf<{ most: number }>(server);
      server.send('how many?');
      client.most = Math.max(client.most, (await seen).most);
      if (round >= 0) client.runs.push(run);
      // Waits until the last requests no longer count against the rate limit.
      await new Promise(resolve => setTimeout(resolve, 1_300));
    }
  await Promise.all([server, ...clients.map(({ child }) => child)].map(stop));
  return clients.map(({ variant, runs, most }) => ({ panel: name, variant, runs, most }));
}

function line(row: Row, rows: readonly Row[], pages: number): string {
  const seconds = row.runs.map(run => run.seconds);
  const loop = rows.find(({ panel, variant }) => panel === row.panel && variant === LOOP);
  const ratio = median(loop?.runs.map(run => run.seconds) ?? []) / median(seconds);
  const cells = [
    row.variant.name,
    median(seconds).toFixed(2),
    `${Math.min(...seconds).toFixed(2)}–${Math.max(...seconds).toFixed(2)}`,
    (pages / median(seconds)).toFixed(1),
    median(row.runs.map(run => run.cpuSeconds)).toFixed(2),
    ratio.toFixed(1),
    row.most,
  ];
  return `| ${cells.join(' | ')} |`;
}

function chartOf(rows: readonly Row[], pages: number): Chart {
  return {
    name: 'search',
    title: search.title,
    unit: 'pages a second',
    better: 'more',
    bars: rows.map(({ panel, variant, runs }) => ({
      panel,
      name: variant.name,
      kind: variant === LOOP ? 'peer' : 'ours',
      values: runs.map(({ seconds }) => pages / seconds),
    })),
  };
}

function timestamp(at: number): string {
  return new Date(at).toISOString().replace(/[-T:]/g, '').slice(0, 12);
}
