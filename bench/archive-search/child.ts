import { pathToFileURL } from 'node:url';
import { peakMemory } from '../peak-memory.js';

export interface Call {
  readonly name: string;
  readonly args: readonly unknown[];
}

export interface Reply {
  readonly value?: unknown;
  readonly error?: string;
  readonly ms: number;
  /** The CPU time that all threads took, in milliseconds. */
  readonly cpuMs: number;
  readonly peakMegabytes: number;
}

// Loads a module in a separate process, and calls its exports when the parent asks. Usage: node
// child.js MODULE.
const module = import(pathToFileURL(process.argv[2] ?? '').href) as Promise<
  Record<string, (...args: readonly unknown[]) => unknown>
>;
module.catch(() => {}); // the first call reports the error

process.on('message', async ({ name, args }: Call) => {
  const cpuBefore = process.cpuUsage();
  let before = performance.now();
  const outcome: { value?: unknown; error?: string } = {};
  try {
    const call = (await module)[name];
    before = performance.now();
    outcome.value = await call?.(...args);
  } catch (error) {
    outcome.error = error instanceof Error ? error.message : String(error);
  }
  const ms = performance.now() - before;
  const { user, system } = process.cpuUsage(cpuBefore);
  const reply: Reply = {
    ...outcome,
    ms,
    cpuMs: (user + system) / 1_000,
    peakMegabytes: peakMemory() / 2 ** 20,
  };
  process.send?.(reply);
});
