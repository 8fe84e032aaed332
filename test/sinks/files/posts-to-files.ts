import { setTimeout as sleep } from 'node:timers/promises';
import { Flow } from '../../../src/flow/flow.js';
import { pipeline } from '../../../src/flow/pipeline.js';
import { dedupe } from '../../../src/operators/dedupe.js';
import { routeByTag } from '../../../src/operators/route-by-tag.js';
import { files } from '../../../src/sinks/files.js';
import { PAGES, pageOf } from '../pages.js';

// The script that the test kills. Arguments: the folder of its files, and options of files() as JSON.
const [out = '', options = '{}'] = process.argv.slice(2);

const pages = new Flow(async function* ({ resume }) {
  for (let page = resume === undefined ? 0 : Number(resume.page); page < PAGES; page++) {
    if (page % 8 === 0) await sleep(1);
    const items = pageOf(page);
    // A run cannot resume after every batch.
    yield page % 3 === 0 ? { items } : { items, cursor: { page: page + 1 } };
  }
});

process.stdout.write('started\n');
const written = await pipeline(
  pages,
  dedupe({ window: 500 }),
  routeByTag(),
  files({
    path: `${out}/{tag}/{hour}.jsonl`,
    checkpoint: `${out}/checkpoint.json`,
    ...JSON.parse(options),
  }),
);
process.stdout.write(JSON.stringify(written));
