import { pipeline } from '../../src/flow/pipeline.js';
import { chunk } from '../../src/operators/chunk.js';
import { compose } from '../../src/operators/compose.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { filter } from '../../src/operators/filter.js';
import { routeByTag } from '../../src/operators/route-by-tag.js';
import { csv } from '../../src/sinks/csv.js';
import { files } from '../../src/sinks/files.js';
import { tee } from '../../src/sinks/tee.js';
import { isLong, pages } from './pages.js';

// The script that the test kills: the folder of its files, and the interval between commits.
const [out = '', commitIntervalMs = '0'] = process.argv.slice(2);
const everyMs = { commitIntervalMs: Number(commitIntervalMs) };

process.stdout.write('started\n');
const results = await pipeline(
  pages(),
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
