import { pipeline } from '../../src/flow/pipeline.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { routeByTag } from '../../src/operators/route-by-tag.js';
import { csv } from '../../src/sinks/csv.js';
import { parquet } from '../../src/sinks/parquet.js';
import { pages } from './pages.js';

// The script that the test kills. Arguments: the folder of its files, and csv or parquet.
const [out = '', format = 'csv'] = process.argv.slice(2);

const columns = ['tag', 'id', 'posted_at', 'text', 'rule_tags'] as const;
const checkpoint = `${out}/checkpoint.json`;
process.stdout.write('started\n');
await pipeline(
  pages(),
  dedupe({ window: 500 }),
  routeByTag(),
  format === 'csv'
    ? csv({
        path: `${out}/{tag}/{hour}.csv.gz`,
        columns,
        checkpoint,
        commitIntervalMs: 5,
        maxBytes: 60_000,
      })
    : parquet({
        path: `${out}/tag={tag}/posts.parquet`,
        columns,
        checkpoint,
        maxBytes: 60_000,
        rowGroup: 20,
      }),
);
