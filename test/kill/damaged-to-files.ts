import { pipeline } from '../../src/flow/pipeline.js';
import { activities } from '../../src/operators/activities.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { mapAsync } from '../../src/operators/map-async.js';
import { csv } from '../../src/sinks/csv.js';
import { files } from '../../src/sinks/files.js';
import { tee } from '../../src/sinks/tee.js';
import { localFiles } from '../../src/sources/local-files.js';

// The script that the test kills. Arguments: the folder of stored files, that of the output.
const [stored = '', out = ''] = process.argv.slice(2);

process.stdout.write('started\n');
await pipeline(
  localFiles(stored),
  gunzip(),
  jsonLines(),
  activities(),
  // Reads ahead of the commits.
  mapAsync(async post => {
    await new Promise(setImmediate);
    return post;
  }),
  tee(
    files({ path: `${out}/posts.jsonl`, commitIntervalMs: 0 }),
    csv({ path: `${out}/posts.csv`, columns: ['id', 'posted_at'], commitIntervalMs: 0 }),
    { checkpoint: `${out}/checkpoint.json`, damaged: `${out}/damaged.jsonl` },
  ),
);
