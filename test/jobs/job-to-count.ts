import { account, activities, gunzip, jobFiles, jsonLines, pipeline } from 'millrace';
import { peakMemory } from '../../bench/peak-memory.js';
import { LOGIN } from '../login.js';
import { MemoryWatch } from '../memory-watch.js';

// Runs in a separate process, whose memory is measured. Arguments: URL of the service, id of the
// job, number of posts.
const [historicalUrl = '', job = '', posts = ''] = process.argv.slice(2);
const third = Math.floor(Number(posts) / 3);
const acme = account({ historicalUrl, account: 'acme', publisher: 'twitter', ...LOGIN }, {});
// Loads undici's HTTP client now. Otherwise, the library would load it with the first request, and
// the measured memory would include it.
// @ts-expect-error: undici declares the types of its main module only.
await import('undici/lib/dispatcher/client.js');
const before = peakMemory();
let kept = 0;
const read = await pipeline(
  jobFiles(acme, job),
  gunzip(),
  jsonLines(),
  activities(),
  async input => {
    let count = 0;
    let watch: MemoryWatch | undefined;
    for await (const _ of input) {
      count++;
      if (count === third) watch = await MemoryWatch.start();
      if (count === 3 * third) kept = (await watch?.look()) ?? 0;
    }
    return count;
  },
);
process.send?.({ posts: read, bytes: peakMemory() - before, kept });
