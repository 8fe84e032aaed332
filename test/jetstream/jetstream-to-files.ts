import { appendFileSync } from 'node:fs';
import type { ConsumeWork } from './chaos-work.js';
import { connecting } from './connecting.js';

const { library, out, gaps, servers, options } = JSON.parse(process.argv[2] ?? '') as ConsumeWork;
const { files, pipeline } = (await import(
  new URL('index.js', library).href
)) as typeof import('../../src/index.js');
const { fromJetStream } = (await import(
  new URL('jetstream/index.js', library).href
)) as typeof import('../../src/jetstream/index.js');

const result = await pipeline(
  fromJetStream({
    ...options,
    connection: connecting(servers),
    onGap: gap => appendFileSync(gaps, `${JSON.stringify(gap)}\n`),
  }),
  files({
    path: `${out}/{hour}.jsonl`,
    checkpoint: `${out}/checkpoint.json`,
    commitIntervalMs: 50,
  }),
);
process.stdout.write(JSON.stringify(result));
