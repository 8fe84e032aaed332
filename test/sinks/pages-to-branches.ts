import { setTimeout as sleep } from 'node:timers/promises';
import { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { chunk } from '../../src/operators/chunk.js';
import { compose } from '../../src/operators/compose.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { filter } from '../../src/operators/filter.js';
import { routeByTag } from '../../src/operators/route-by-tag.js';
import { csv } from '../../src/sinks/csv.js';
import { files } from '../../src/sinks/files.js';
import { tee } from '../../src/sinks/tee.js';
import { isLong, PAGES, pageOf } from './pages.js';

// The script that the test kills: the folder of its files, and the interval between commits.
const [out = '', commitIntervalMs = '0'] = process.argv.slice(2);
const everyMs = { commitIntervalMs: Number(commitIntervalMs) };

const pages = new Flow(async function* ({ resume }) {
  for (let page = resume === undefined ? 0 : Number(resume.page); page < PAGES; page++) {
    if (page % 8 === 0) await sleep(1);
    const items = pageOf(page);
    // Not every batch has a cursor.
    yield page % 3 === 0 ? { items } : { items, cursor: { page: page + 1 } };
  }
});

process.stdout.write('started\n');
const results = await pipeline(
  pages,
  tee(
    files({ path: `${out}/raw.jsonl.gz`, ...everyMs }),
    compose(
      dedupe({ window: 500 }),
      routeByTag(),
      files({ path: `${out}/{tag}.jsonl`, maxBytes: 60_000, ...everyMs }),
    ),
    compose(
      filter(isLong),
      dedupe({ window: 500 }),
      csv({ path: `${out}/long.csv`, columns: ['id'], ...everyMs }),
    ),
    compose(
      chunk(7),
      files({ path: `${out}/sevens`, line: posts => posts.map(({ id }) => id).join(), ...everyMs }),
    ),
    { checkpoint: `${out}/checkpoint.json` },
  ),
);
process.stdout.write(JSON.stringify(results));
