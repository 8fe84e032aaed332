import { setTimeout as sleep } from 'node:timers/promises';
import type { FromJetStreamOptions } from 'millrace/jetstream';
import { type ConnectingJson, connecting } from '../../jetstream/connecting.js';
import { watchDisk } from '../matrix/failing-disk.js';
import { readToFiles } from './reader.js';

export interface ReaderWork {
  readonly library: string;
  readonly options: Omit<FromJetStreamOptions, 'connection'> & {
    readonly connection: ConnectingJson;
  };
  readonly out: string;
  /**
   * The process kills itself before a call that changes a file below `out`. This is the position of
   * that call, starting at 1.
   */
  readonly dieAt?: number | undefined;
}

/** Delays some posts before the sink, so that most kills happen in the middle of a run. */
const PACE_MS = 1;
const PACED = 4;

// Reads a stream into files in a process that a test kills. Prints `started` before it opens
// anything, and the number of its disk calls at its end.
const { library, options, out, dieAt } = JSON.parse(process.argv[2] ?? '') as ReaderWork;
const millrace = (await import(new URL('index.js', library).href)) as typeof import('millrace');
const jetstream = (await import(
  new URL('jetstream/index.js', library).href
)) as typeof import('millrace/jetstream');
let calls = 0;
await watchDisk(out, () => {
  if (++calls === dieAt) process.kill(process.pid, 'SIGKILL');
});
process.stdout.write('started\n');
await readToFiles({
  millrace,
  jetstream,
  options: { ...options, connection: connecting(...options.connection) },
  out,
  consume: index => (index % PACED === 0 ? sleep(PACE_MS) : undefined),
});
process.stdout.write(`${JSON.stringify({ calls })}\n`);
