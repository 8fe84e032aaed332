import { once } from 'node:events';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { PARSERS } from './fuzz/all-parsers.js';
import type { FuzzAnswer, FuzzTask, FuzzTrial } from './fuzz/fuzz-child.js';
import type { Fuzzed } from './fuzz/fuzz-parser.js';
import type { Cell, Part } from './part.js';

/**
 * The duration of a trial, in ms. A trial takes longer if its first `MIN_INPUTS` inputs take
 * longer.
 */
const TRIAL_MS = 1_000;
const MIN_INPUTS = 200;
const INPUT_MS = 20_000;
const MAX_GROWTH_BYTES = 512 * 1024 * 1024;
const WATCH_MS = 200;
const MAX_INPUT_BYTES = 1024 * 1024;

export const fuzz: Part = {
  name: 'fuzz',
  title: 'Parsers, fed with anything',
  promise:
    'Whatever bytes a parser gets, it returns a valid result or a typed error: never another exception, never a hang, never more than 512 MiB of memory. Where there is a careful twin, the result is that of the twin; chunks may be cut at any byte. Inputs are valid ones and mutations of them; `inputs` of them were tried, and `accepted` were valid. A trial takes a second and tries at least 200 inputs; in results with fewer it took the second only.',
  seeds: 10,
  cells: [...PARSERS].map(([name, { holds }]): Cell => ({ name, expects: 'holds', why: holds })),
  open: ({ library }) => ({
    async run({ name }, trials) {
      let thread: FuzzThread | undefined;
      await trials.each(async ({ seed }) => {
        thread ??= new FuzzThread({ library: library.href, name });
        try {
          const { inputs, accepted } = await thread.run({
            seed,
            forMs: TRIAL_MS,
            minInputs: MIN_INPUTS,
          });
          // Only accepted inputs count as hits. A parser that refuses every input has not really
          // been tested.
          return { hits: accepted, inputs, accepted };
        } catch (error) {
          // The thread may hang, or may still contain a part of the failed input.
          await thread.stop();
          thread = undefined;
          throw error;
        }
      });
      await thread?.close();
    },
  }),
};

/** Runs a parser in a thread, which can be stopped if it hangs. */
class FuzzThread {
  readonly #current = new SharedArrayBuffer(8 + MAX_INPUT_BYTES);
  readonly #worker: Worker;

  constructor(task: Omit<FuzzTask, 'current'>) {
    this.#worker = new Worker(path.join(import.meta.dirname, 'fuzz/fuzz-child.js'), {
      workerData: { ...task, current: this.#current } satisfies FuzzTask,
    });
  }

  async run(trial: FuzzTrial): Promise<Fuzzed> {
    const watch = this.#watch();
    try {
      this.#worker.postMessage(trial);
      // An uncaught error ends the thread and rejects this promise.
      const answered = once(this.#worker, 'message') as Promise<[FuzzAnswer]>;
      const [answer] = await Promise.race([answered, watch.failed]);
      if ('failure' in answer) throw new Error(answer.failure);
      return answer.fuzzed;
    } catch (error) {
      throw new Error(`${(error as Error).message}\nThe last input: ${this.#input()}`);
    } finally {
      watch.stop();
    }
  }

  async close(): Promise<void> {
    const ended = once(this.#worker, 'exit');
    this.#worker.postMessage('close');
    await ended;
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }

  #watch(): { readonly failed: Promise<never>; stop(): void } {
    const state = new Int32Array(this.#current, 0, 2);
    const before = process.memoryUsage.rss();
    let input = -1;
    let since = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const failed = new Promise<never>((_, reject) => {
      timer = setInterval(() => {
        const now = Atomics.load(state, 0);
        if (now !== input) {
          input = now;
          since = performance.now();
        } else if (performance.now() - since > INPUT_MS)
          reject(new Error(`No end within ${INPUT_MS / 1000} s: it hangs`));
        const growth = process.memoryUsage.rss() - before;
        if (growth > MAX_GROWTH_BYTES)
          reject(new Error(`Memory grew by ${Math.round(growth / 2 ** 20)} MiB`));
      }, WATCH_MS);
    });
    failed.catch(() => {});
    return { failed, stop: () => clearInterval(timer) };
  }

  #input(): string {
    const [, length = 0] = new Int32Array(this.#current, 0, 2);
    return Buffer.from(new Uint8Array(this.#current, 8, length)).toString('base64');
  }
}
