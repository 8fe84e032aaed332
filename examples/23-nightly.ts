// Each night, adds new posts, removes withdrawn posts, and writes tables of the days that have
// changed. nightly.md shows how cron or systemd runs `night`. Here, the local service simulates two
// nights.
import { rm, stat } from 'node:fs/promises';
import {
  type Account,
  account,
  activities,
  applyCompliance,
  compliance,
  dedupe,
  files,
  gunzip,
  intoTombstones,
  jsonLines,
  localFiles,
  openTombstones,
  parquet,
  pipeline,
  search,
} from 'millrace';
import { createService } from 'millrace/service';

const day = 86_400_000;
const fromDate = new Date(Date.now() - 3 * day); // the start of the first night's search

async function night(acme: Account) {
  const { added, files: days } = await pipeline(
    search(acme, { query: 'coffee OR rain OR football', product: '30day', fromDate, incremental: true }),
    dedupe(),
    files({ path: 'out/nightly/posts/{day}.jsonl.gz', checkpoint: 'out/nightly/posts.json' }),
  );
  const tombstones = await openTombstones('out/nightly/tombstones');
  const { events } = await pipeline(compliance(acme, { until: 'caught up', fromDate }), intoTombstones(tombstones));
  const { rewritten } = await applyCompliance('out/nightly/posts', tombstones);
  await tombstones.close();
  let tables = 0;
  for (const { path } of days) {
    const table = path.replace('/posts/', '/tables/').replace('.jsonl.gz', '.parquet');
    if ((await changedAt(table)) >= (await changedAt(path))) continue;
    const rows = await pipeline(localFiles(path), gunzip(), jsonLines(), activities(), parquet({ path: table }));
    if (rows.posts === 0) await rm(table, { force: true }); // all posts of this day were withdrawn
    tables++;
  }
  console.log(`${added} posts added; ${events} events; ${rewritten.length} files rewritten; ${tables} tables written`);
}

async function changedAt(path: string): Promise<number> {
  const status = await stat(path).catch(() => undefined);
  return status?.mtimeMs ?? 0;
}

const service = createService({ postsPerMinute: 2, complianceRate: 0.2 });
const addresses = await service.start();
const timing = {
  now: () => service.clock.now(),
  elapsed: () => service.clock.now(),
  random: Math.random,
  sleep: async (ms: number) => service.clock.advance(ms), // events can be replayed after half an hour
};
service.clock.set(Date.now() - day);
await night(account({ ...addresses, timing }));
service.clock.set(Date.now());
await night(account({ ...addresses, timing }));
await service.stop();
