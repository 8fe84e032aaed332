import { appendFileSync } from 'node:fs';
import type { FromJetStreamOptions } from '../../src/jetstream/from-jet-stream.js';

/** What the script gets as its argument, as JSON. */
export interface ConsumeWork {
  /** The folder of the library as a URL with a slash at its end. */
  readonly library: string;
  readonly out: string;
  /** The file that has a line of JSON for each gap. */
  readonly gaps: string;
  readonly options: FromJetStreamOptions;
}

// A consumer that tests kill.
const { library, out, gaps, options } = JSON.parse(process.argv[2] ?? '') as ConsumeWork;
const { files, pipeline } = (await import(
  new URL('index.js', library).href
)) as typeof import('../../src/index.js');
const { fromJetStream } = (await import(
  new URL('jetstream/index.js', library).href
)) as typeof import('../../src/jetstream/index.js');

const result = await pipeline(
  fromJetStream({ ...options, onGap: gap => appendFileSync(gaps, `${JSON.stringify(gap)}\n`) }),
  files({
    path: `${out}/{hour}.jsonl`,
    checkpoint: `${out}/checkpoint.json`,
    commitIntervalMs: 50,
  }),
);
process.stdout.write(JSON.stringify(result));
