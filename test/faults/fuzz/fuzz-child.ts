import { parentPort, workerData } from 'node:worker_threads';
import { PARSERS } from './all-parsers.js';
import { type Fuzzed, fuzzParser } from './fuzz-parser.js';

export interface FuzzTask {
  readonly library: string;
  readonly name: string;
  /**
   * The serial number of the current input, its length and its bytes. The main thread prints the
   * input if the thread hangs.
   */
  readonly current: SharedArrayBuffer;
}

export interface FuzzTrial {
  readonly seed: number;
  readonly forMs: number;
  readonly minInputs: number;
}
export type FuzzAnswer = { readonly fuzzed: Fuzzed } | { readonly failure: string };

const { library, name, current } = workerData as FuzzTask;
const state = new Int32Array(current, 0, 2);
const bytes = new Uint8Array(current, 8);
const kind = PARSERS.get(name);
if (kind === undefined) throw new Error(`No such parser: ${name}`);
const parser = await kind.open(new URL(library));

function onInput(input: Buffer): void {
  bytes.set(input.subarray(0, bytes.length));
  state[1] = Math.min(input.length, bytes.length);
  Atomics.add(state, 0, 1);
}

parentPort?.on('message', async (trial: FuzzTrial | 'close') => {
  if (trial === 'close') {
    await parser.close?.();
    parentPort?.close();
    return;
  }
  let answer: FuzzAnswer;
  try {
    answer = { fuzzed: await fuzzParser(parser, { name, ...trial, onInput }) };
  } catch (error) {
    answer = { failure: error instanceof Error ? error.message : String(error) };
  }
  parentPort?.postMessage(answer);
});
