import { pipeline } from '../../src/flow/pipeline.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { routeByTag } from '../../src/operators/route-by-tag.js';
import { files } from '../../src/sinks/files.js';
import { pages } from './pages.js';

// The script that the test kills. Arguments: the folder of its files, and options of files() as JSON.
const [out = '', options = '{}'] = process.argv.slice(2);

process.stdout.write('started\n');
const written = await pipeline(
  pages(),
  dedupe({ window: 500 }),
  routeByTag(),
  files({
    path: `${out}/{tag}/{hour}.jsonl`,
    checkpoint: `${out}/checkpoint.json`,
    ...JSON.parse(options),
  }),
);
process.stdout.write(JSON.stringify(written));
