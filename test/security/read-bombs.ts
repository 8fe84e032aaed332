// Makes every call that reads a response, against a server on which every response is a bomb. After
// each call, prints its result and the peak memory of the process so far, in MiB.
import path from 'node:path';
import {
  account,
  collect,
  compliance,
  counts,
  gunzip,
  jobFiles,
  jobs,
  jsonLines,
  MillraceError,
  pipeline,
  replay,
  replayRules,
  search,
  usage,
  users,
} from 'millrace';
import { peakMemory } from '../../bench/peak-memory.js';
import { collectGarbage } from '../collect-garbage.js';
import { ACME, listedJob, pastHour } from './acme.js';

const [url = '', folder = '', ...names] = process.argv.slice(2);
const acme = account(
  {
    url,
    oauthUrl: url,
    dataUrl: url,
    ...ACME,
    retry: { attempts: 1 },
    limits: { replay: [] },
  },
  {},
);
const query = { product: 'fullarchive', query: 'rain' } as const;
/** The job's list of files is valid, and its only file is the bomb. */
const job = listedJob(url);
const calls: Readonly<Record<string, () => Promise<unknown>>> = {
  search: () => pipeline(search(acme, query), collect()),
  counts: () => pipeline(counts(acme, { ...query, bucket: 'day' }), collect()),
  usage: () => usage.report(acme),
  jobs: () => jobs.list(acme),
  results: () => jobs.results(acme, 'abcdef'),
  jobFiles: () => pipeline(jobFiles(acme, job), gunzip(), jsonLines(), collect()),
  download: () => jobs.download(acme, job, { folder: path.join(folder, 'job') }),
  rules: () => pipeline(replayRules.list(acme), collect()),
  token: () => users.requestToken(acme, { callback: 'oob' }),
  engagement: () => users.engagementTotals(acme, { ids: ['1'] }),
  compliance: () => pipeline(compliance(acme), collect()),
  replay: () =>
    pipeline(
      replay(acme, { streamType: 'firehose', folder, timings: { attempts: 1 }, ...pastHour() }),
      collect(),
    ),
};
const ended: Record<string, string> = {};
const peaks: Record<string, number> = {};
for (const name of names) {
  // Collects the garbage of the previous call, so that it is not measured.
  collectGarbage();
  ended[name] = await calls[name]!().then(
    () => 'a result',
    (error: unknown) => (error instanceof MillraceError ? error.code : String(error)),
  );
  peaks[name] = Math.round(peakMemory() / 2 ** 20);
}
await acme.close();

console.log(JSON.stringify({ ended, peaks }));
