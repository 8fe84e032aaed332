import { peakMemory } from '../peak-memory.js';

/** What a child gets as its argument, as JSON. */
export interface Task {
  readonly urls: string[];
  readonly stream: string;
  readonly replicas: 1 | 3;
  /** Publishes that wait for their acknowledgement at a time. */
  readonly inFlight: number;
  /** Stored files, and how many different posts are in them. */
  readonly files: readonly string[];
  readonly posts: number;
  readonly out: string;
  /** Several posts in a message. */
  readonly batch?: { readonly compression?: 'gzip' } | undefined;
}

/** What it measured. */
export interface Done {
  readonly posts: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakMegabytes: number;
}

/** Runs in a child: `prepare` is not timed, what it returns is. */
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
