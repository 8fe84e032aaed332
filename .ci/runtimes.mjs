// Checks what the package promises for Bun and Deno, against the local service. Usage: `bun
// .ci/runtimes.mjs`, `deno run -A .ci/runtimes.mjs`.
import assert from 'node:assert/strict';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  account,
  collect,
  dedupe,
  files,
  openTombstones,
  parquet,
  pipeline,
  replay,
  search,
} from 'millrace';
import { createService } from 'millrace/service';

const folder = await mkdtemp(path.join(tmpdir(), 'millrace-runtime-'));
const service = createService({ limits: 'relaxed', postsPerMinute: 60 });
const acme = account(await service.start());
const MINUTE = 60_000;
const now = service.clock.now();
const query = {
  ...{ product: '30day', query: 'coffee OR tea', maxResults: 100 },
  ...{ fromDate: new Date(now - 180 * MINUTE), toDate: new Date(now - 60 * MINUTE) },
};

const found = await pipeline(search(acme, query), dedupe(), collect());
assert.ok(found.length > 100, 'a search needs several pages');

const lines = path.join(folder, 'posts.jsonl.gz');
const checkpoint = path.join(folder, 'checkpoint.json');
const written = await pipeline(search(acme, query), dedupe(), files({ path: lines, checkpoint }));
assert.equal(written.posts, found.length);

const table = path.join(folder, 'posts.parquet');
await pipeline(search(acme, query), dedupe(), parquet({ path: table }));
assert.equal((await readFile(table)).toString('latin1', 0, 4), 'PAR1');

const window = { fromDate: new Date(now - 60 * MINUTE), toDate: new Date(now - 50 * MINUTE) };
const replayed = await pipeline(
  replay(acme, { streamType: 'firehose', folder, ...window }),
  dedupe(),
  collect(),
);
assert.ok(replayed.length > 300, 'a replay has all posts of ten minutes');

const tombstones = await openTombstones(path.join(folder, 'tombstones'));
await tombstones.close();
await acme.close();
await service.stop();
const name = globalThis.Bun ? 'Bun' : globalThis.Deno ? 'Deno' : 'Node';
console.log(`${name}: search ${found.length}, replay ${replayed.length}, files, Parquet, LMDB`);
