import { peakMemory } from '../peak-memory.js';

export interface Task {
  readonly urls: string[];
  readonly stream: string;
  readonly replicas: 1 | 3;
  readonly inFlight: number;
  /** The stored files to publish. `posts` is the number of distinct posts in them. */
  readonly files: readonly string[];
  readonly posts: number;
  readonly out: string;
  readonly batch?: { readonly compression?: 'gzip' } | undefined;
}

export interface Done {
  readonly posts: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakMegabytes: number;
}

/**
 * Runs a task in a child process. `prepare` is not measured, but the function that it returns is.
 */
export async function onTask(
  prepare: (task: Task) => Promise<() => Promise<number>>,
): Promise<void> {
  const work = await prepare(JSON.parse(process.argv[2] ?? '') as Task);
  const cpuBefore = process.cpuUsage();
  const before = performance.now();
  const posts = await work();
  const seconds = (performance.now() - before) / 1_000;
  const { user, system } = process.cpuUsage(cpuBefore);
  const done: Done = {
    posts,
    seconds,
    cpuSeconds: (user + system) / 1e6,
    peakMegabytes: peakMemory() / 2 ** 20,
  };
  process.send?.(done, () => process.exit());
}
