import { Session } from 'node:inspector/promises';
import * as millrace from '../src/index.js';

// Runs one of the walks through the source that `src/README.md` describes. Prints the files of
// `src` in which the walk has called a function. Files that were only imported do not count.
const [walk = '', input = '', output = ''] = process.argv.slice(2);
const { account, activities, csv, dedupe, files, gunzip, jsonLines, localFiles, pipeline, search } =
  millrace;

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
if (walk === 'stored')
  await pipeline(
    localFiles(input),
    gunzip(),
    jsonLines(),
    activities(),
    files({ path: `${output}/posts.jsonl` }),
    { progress: 'off' },
  );
else
  await pipeline(
    search(account(), { product: '30day', query: 'coffee', limit: 100 }),
    dedupe(),
    csv({
      path: `${output}/posts.csv`,
      columns: ['id', 'posted_at', 'text'],
      checkpoint: `${output}/checkpoint.json`,
    }),
    { progress: 'off' },
  );
const { result } = await session.post('Profiler.takePreciseCoverage');
const called = result
  .filter(({ functions }) =>
    functions.some(({ functionName, ranges }) => functionName !== '' && ranges[0]!.count > 0),
  )
  .flatMap(({ url }) => /\/src\/(.*)\.[jt]s$/.exec(url)?.[1] ?? []);
console.log(JSON.stringify(called));
