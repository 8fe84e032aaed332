import { existsSync } from 'node:fs';
import {
  account,
  activities,
  dedupe,
  files,
  gunzip,
  jobFiles,
  jobs,
  jsonLines,
  pipeline,
} from 'millrace';

// The script that the test kills. Arguments: OUT, the account options as JSON, the job, and the mode.
const [out = '', options = '{}', job = '', what = 'files'] = process.argv.slice(2);
const acme = account(JSON.parse(options));

process.stdout.write('started\n');
// A job this small is written by threads only where their number is given.
const workers = what === 'threads' ? 2 : undefined;
let threads = 0;
process.on('worker', () => threads++);
const isFirst = !existsSync(`${out}/checkpoint.json`);
if (what === 'folder') await jobs.download(acme, job, { folder: out });
else
  await pipeline(
    jobFiles(acme, job),
    gunzip(),
    jsonLines(),
    activities(),
    dedupe(),
    files({
      path: `${out}/{hour}.jsonl`,
      checkpoint: `${out}/checkpoint.json`,
      commitIntervalMs: 0,
      workers,
    }),
  );
if (isFirst && threads !== (workers ?? 0)) throw new Error(`There were ${threads} threads`);
