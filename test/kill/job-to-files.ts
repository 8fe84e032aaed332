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

// The script that the test kills: OUT, the options of the account as JSON, the job, and what to do.
const [out = '', options = '{}', job = '', what = 'files'] = process.argv.slice(2);
const acme = account(JSON.parse(options));

process.stdout.write('started\n');
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
    }),
  );
