import type { Reply } from './archive-search/child.js';
import type { Posts } from './archive-search/posts.js';
import { ModuleProcess } from './archive-search/process.js';
import { QUERIES } from './archive-search/queries.js';
import { type Built, chartOf, type Row, report } from './archive-search/report.js';
import type { Study } from './question.js';

interface Asked {
  readonly process: ModuleProcess;
  readonly page: string;
  readonly counts: string;
}

const WARM_UPS = 3;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

export const archiveSearch: Study = {
  name: 'archive-search',
  title: 'Search: a page and a month of counts from a folder of posts',
  async run({ quick }) {
    const maker = new ModuleProcess('posts');
    const { value: posts } = await maker.call<Posts>('makePosts', quick ? 0.5 : 22.5);
    await maker.end();

    const duckdb = await versionOfDuckdb();
    const built = [await build('millrace', posts)];
    if (duckdb !== undefined) built.push(await build('duckdb', posts));

    const ours = new ModuleProcess('millrace');
    await ours.call('open', posts);
    const engines = new Map<string, Asked>([
      ['millrace', { process: ours, page: 'search', counts: 'counts' }],
    ]);
    if (duckdb !== undefined) {
      const process = new ModuleProcess('duckdb');
      await process.call('open', posts);
      engines.set('duckdb', { process, page: 'search', counts: 'counts' });
    }
    const rows = await ask(engines, posts, quick ? 3 : 9);
    await ours.call('serve');
    const http = await ask(
      new Map([
        // Queries over HTTP come first. Otherwise, the direct search would already have brought the
        // files into the page cache.
        ['http', { process: ours, page: 'searchByHttp', counts: 'countsByHttp' }],
        ['millrace', engines.get('millrace') as Asked],
      ]),
      posts,
      quick ? 3 : 9,
    );
    for (const { process } of engines.values()) {
      await process.call('close');
      await process.end();
    }
    const findings = { posts, built, duckdb, rows, http };
    return { markdown: report(findings), charts: [chartOf(findings)] };
  },
};

async function versionOfDuckdb(): Promise<string | undefined> {
  const process = new ModuleProcess('duckdb');
  const version = await process.call<string>('version').catch(() => undefined);
  await process.end();
  return version?.value;
}

async function build(name: string, posts: Posts): Promise<Built> {
  const process = new ModuleProcess(name);
  const { value: bytes, ms, cpuMs, peakMegabytes } = await process.call<number>('build', posts);
  await process.end();
  return { name, seconds: ms / 1_000, cpuSeconds: cpuMs / 1_000, peakMegabytes, bytes };
}

/**
 * Queries the engines in turns, so that changes in the machine's speed affect all of them. A query
 * is repeated only after all other queries. Fails if the answers of the engines differ.
 */
async function ask(
  engines: ReadonlyMap<string, Asked>,
  { from, to }: Posts,
  rounds: number,
): Promise<readonly Row[]> {
  const rows = QUERIES.flatMap(query =>
    (['page', 'new page', 'counts'] as const).map(task => ({
      query,
      task,
      found: undefined as unknown,
      replies: new Map<string, Reply[]>([...engines.keys()].map(name => [name, []])),
    })),
  );
  // New pages are queried separately, because they would evict the cached pages of the repeated
  // queries.
  const [again, anew] = [false, true].map(isNew =>
    rows.filter(row => (row.task === 'new page') === isNew),
  );
  for (const group of [again, anew])
    for (let round = -WARM_UPS; round < rounds; round++)
      for (const [i, row] of (group ?? []).entries()) {
        // Each new page ends at a different day and hour, so its posts were not read recently.
        const earlier = row.task === 'new page' ? (round + WARM_UPS + 1) * DAY + i * 4 * HOUR : 0;
        let expected: unknown;
        for (const [name, { process, ...names }] of engines) {
          const call = row.task === 'counts' ? names.counts : names.page;
          const reply = await process.call(call, row.query, { from, to: to - earlier });
          expected ??= reply.value;
          assertSame(`${name}, ${row.task} of ${row.query.rule}`, reply.value, expected);
          if (round >= 0) row.replies.get(name)?.push(reply);
        }
        row.found = expected;
      }
  return rows;
}

function assertSame(what: string, value: unknown, expected: unknown): void {
  const [found, wanted] = [JSON.stringify(value), JSON.stringify(expected)];
  if (found === wanted) return;
  let at = 0;
  while (found[at] === wanted[at]) at++;
  const near = (json: string) => json.slice(Math.max(0, at - 60), at + 60);
  throw new Error(
    `archive-search: ${what} is not what was found first:\n${near(found)}\n${near(wanted)}`,
  );
}
