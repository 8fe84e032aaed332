import { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { files } from '../../src/sinks/files.js';

// The test runs this script with a small heap. Every item goes to a separate file.
const [out = ''] = process.argv.slice(2);
const items = new Flow<number>(async function* () {
  for (let n = 0; n < 200_000; n += 100)
    yield { items: Array.from({ length: 100 }, (_, index) => n + index) };
});
const path = (n: number) => `${out}/authors-with-a-name/of-some-length/author-${n}.jsonl`;
await pipeline(items, files({ path })).then(
  () => process.stdout.write('done'),
  (error: { code?: string }) => process.stdout.write(`failed: ${error.code}`),
);
