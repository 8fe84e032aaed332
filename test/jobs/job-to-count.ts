import { account, activities, gunzip, jobFiles, jsonLines, pipeline } from 'millrace';
import { peakMemory } from '../../bench/peak-memory.js';

// A process of its own whose memory is measured: URL of the service, then the job.
const [historicalUrl = '', job = ''] = process.argv.slice(2);
const acme = account(
  { historicalUrl, account: 'acme', publisher: 'twitter', email: 'a@b.c', password: 'secret' },
  {},
);
// The library would load it with the first request.
// @ts-expect-error: undici declares the types of its main module only.
await import('undici/lib/dispatcher/client.js');
// The memory used before, including the TypeScript loader.
const before = peakMemory();
const posts = await pipeline(
  jobFiles(acme, job),
  gunzip(),
  jsonLines(),
  activities(),
  async input => {
    let count = 0;
    for await (const _ of input) count++;
    return count;
  },
);
process.send?.({ posts, bytes: peakMemory() - before });
