import { existsSync } from 'node:fs';
import { pipeline } from '../../src/flow/pipeline.js';
import { activities } from '../../src/operators/activities.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { routeByTag } from '../../src/operators/route-by-tag.js';
import { files } from '../../src/sinks/files.js';
import { localFiles } from '../../src/sources/local-files.js';

// The script that the test kills. Arguments: the folder of stored files, that of the output, and the
// number of worker threads.
const [stored = '', out = '', workers = '0'] = process.argv.slice(2);

let threads = 0;
process.on('worker', () => threads++);
const isFirst = !existsSync(`${out}/checkpoint.json`);
process.stdout.write('started\n');
await pipeline(
  localFiles(stored),
  gunzip(),
  jsonLines(),
  activities(),
  dedupe(),
  routeByTag(),
  files({
    path: `${out}/{tag}/{day}.jsonl`,
    checkpoint: `${out}/checkpoint.json`,
    commitIntervalMs: 0,
    workers: Number(workers),
  }),
);
if (isFirst && threads !== Number(workers)) throw new Error(`There were ${threads} threads`);
