import { rmSync } from 'node:fs';
import { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { files } from '../../src/sinks/files.js';

// The test runs this script in a folder that is deleted while the script runs.
const [option = ''] = process.argv.slice(2);
const items = new Flow<{ n: number }>(async function* () {
  yield { items: [{ n: 1 }] };
  if (option === 'during') rmSync(process.cwd(), { recursive: true });
  yield { items: [{ n: 2 }] };
});
if (option === 'before') rmSync(process.cwd(), { recursive: true });
await pipeline(items, files({ path: ({ n }) => `out/deep/${n}.jsonl` })).then(
  () => process.stdout.write('done'),
  (error: { code?: string }) => process.stdout.write(`failed: ${error.code}`),
);
