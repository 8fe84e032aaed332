import { copyFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadLibrary } from '../load-library.js';
import { Random } from '../random.js';
import { watchDisk } from './failing-disk.js';
import type { Pipeline } from './pipeline.js';
import { PIPELINES, type RowName } from './pipelines.js';
import { NO_LIMITS, TrialTiming } from './trial-timing.js';
import { threadMessages } from './watched-thread.js';

export interface ChildWork {
  readonly row: RowName;
  readonly library: string;
  readonly addresses: Readonly<Record<string, string>>;
  readonly out: string;
  readonly input: string;
  readonly now: number;
  readonly paceMs: number;
  /** The process kills itself before this call, which changes a file below `out`. */
  readonly dieAt?: DiskPlace | undefined;
  readonly commits?: CommitWork | undefined;
}

export interface CommitWork {
  readonly intervalMs: number;
  /** The folder to which each checkpoint is copied just before it is committed. */
  readonly copies: string;
  /** The process kills itself at this commit. The first commit is 1. */
  readonly dieAt: number;
  /**
   * Whether the process dies before the checkpoint is renamed. Otherwise, it dies at the next call
   * that changes a file.
   */
  readonly isBefore: boolean;
  /**
   * The maximum delay of a thread's write, in milliseconds. The delays make threads finish in
   * another order than they started.
   */
  readonly maxWriteMs: number;
  readonly seed: string;
}

export interface DiskPlace {
  /** The position of the call among the calls that change a file, starting at 1. */
  readonly call: number;
  readonly ofThreads: boolean;
}

// Runs a pipeline in a process that a test kills. Prints `started` before it opens anything. Prints
// `thread` if it dies at a write of a worker thread. At its end, prints the number of its disk
// calls.
const work = JSON.parse(process.argv[2] ?? '') as ChildWork;
const { addresses, dieAt } = work;
const millrace = await loadLibrary({ library: new URL(work.library) });
let now = work.now;
const clock = {
  now: () => now,
  async advance(ms: number) {
    const response = await fetch(`${addresses.baseUrl}/_control/clock`, {
      method: 'POST',
      body: JSON.stringify({ advance: Math.ceil(ms) }),
    });
    now = Date.parse(((await response.json()) as { now: string }).now);
  },
};
const account = millrace.account(
  {
    ...addresses,
    limits: NO_LIMITS,
    // Other processes advance the service's clock, too. The account learns the time from the
    // responses, as usual.
    timing: new TrialTiming(clock),
  },
  {},
);
let calls = 0;
let threadWrites = 0;
let commits = 0;
let isToDie = false;
const waits = new Random(work.commits?.seed ?? '');
await watchDisk(work.out, (call, file, isInThread) => {
  if (work.commits !== undefined) return atCommits(work.commits, { call, file, isInThread });
  calls++;
  if (isInThread) threadWrites++;
  if (dieAt === undefined || (dieAt.ofThreads && !isInThread)) return;
  if (dieAt.call !== (dieAt.ofThreads ? threadWrites : calls)) return;
  if (isInThread) writeSync(1, 'thread\n');
  process.kill(process.pid, 'SIGKILL');
});
process.stdout.write('started\n');
const pipeline: Pipeline = PIPELINES[work.row];
await pipeline.run({
  millrace,
  account,
  out: path.resolve(work.out),
  input: work.input,
  consume: () => sleep(work.paceMs),
  onTombstones: () => process.stdout.write('tombstones\n'),
  commitIntervalMs: work.commits?.intervalMs,
});
process.stdout.write(
  `${JSON.stringify({ calls, threadWrites, threadMessages: threadMessages.count })}\n`,
);

function atCommits(
  { copies, dieAt, isBefore, maxWriteMs }: CommitWork,
  { call, file, isInThread }: { call: string; file: string; isInThread: boolean },
): Promise<void> | undefined {
  if (isToDie) process.kill(process.pid, 'SIGKILL');
  if (call === 'rename' && file.endsWith('checkpoint.json.tmp')) {
    copyFileSync(file, path.join(copies, String(++commits)));
    isToDie = commits === dieAt;
    if (isToDie && isBefore) process.kill(process.pid, 'SIGKILL');
  }
  return isInThread ? sleep(waits.whole(0, maxWriteMs)) : undefined;
}
