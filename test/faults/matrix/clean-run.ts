import type { Tombstones } from 'millrace';
import { Random } from '../random.js';
import { ComplianceEvents } from './compliance.js';
import { watchDisk } from './failing-disk.js';
import { mustUseThreads } from './pipelines.js';
import type { RowRun } from './row-run.js';
import { type Clean, sentTo } from './sent.js';
import { threadMessages } from './watched-thread.js';

/**
 * Runs a pipeline without a fault. Returns where faults can be planted: the responses that it
 * receives through a proxy, its disk calls and its thread messages.
 */
export async function cleanRun(run: RowRun): Promise<Clean> {
  let diskCalls = 0;
  let threadWrites = 0;
  const stop = await watchDisk(run.out, (call, _, isInThread) => {
    if (call !== 'mkdir') diskCalls++;
    if (isInThread) threadWrites++;
  });
  const before = threadMessages.count;
  try {
    await run.run({});
  } finally {
    stop();
  }
  await run.mustBeComplete();
  const messages = threadMessages.count - before;
  mustUseThreads(run.row.name, { threadWrites, threadMessages: messages });
  return { sent: sentOf(run), diskCalls, threadWrites, threadMessages: messages };
}

export async function cleanCompliance(run: RowRun): Promise<Clean> {
  const events = new ComplianceEvents(run.world, new Random('clean'));
  events.burst();
  let tombstones: Tombstones | undefined;
  const stop = new AbortController();
  const running = run.run({
    signal: stop.signal,
    onTombstones: store => {
      tombstones = store;
    },
  });
  const ended = running.catch((error: unknown) => {
    tombstones = undefined;
    if (!stop.signal.aborted) throw error;
  });
  try {
    await Promise.race([events.arrive(() => tombstones, stop.signal), ended]);
  } finally {
    tombstones = undefined;
    // A stream that continues would keep the process from ending.
    stop.abort(new Error('No more events are expected'));
    await ended;
  }
  return { sent: sentOf(run), diskCalls: 0, threadWrites: 0, threadMessages: 0 };
}

function sentOf({ row, world }: RowRun): Clean['sent'] {
  return sentTo(row.endpoints, world.proxy?.seen ?? []);
}
