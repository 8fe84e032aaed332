import { createInterface } from 'node:readline';
import { JobStore } from '../../../src/service/jobs/job-store.js';

// The test starts several processes with this script. Each line of input opens or closes the jobs
// in a folder.
const [folder = ''] = process.argv.slice(2);
let store: JobStore | undefined;

process.stdout.write('ready\n');
for await (const line of createInterface(process.stdin)) {
  let answer = 'closed';
  if (line === 'close') await store?.close();
  else {
    store = new JobStore(folder);
    answer = await store.load().then(
      () => 'opened',
      (error: Error) => `refused: ${error.message}`,
    );
  }
  process.stdout.write(`${answer}\n`);
}
