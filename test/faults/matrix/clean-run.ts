import type { Tombstones } from 'millrace';
import { Random } from '../random.js';
import { ComplianceEvents } from './compliance.js';
import { watchDisk } from './failing-disk.js';
import type { RowRun } from './row-run.js';
import { type Clean, sentTo } from './sent.js';

/** What a run without a fault does. The run has a proxy, which sees what is sent. */
export async function cleanRun(run: RowRun): Promise<Clean> {
  let diskCalls = 0;
  let items = 0;
  const stop = await watchDisk(run.out, call => {
    if (call !== 'mkdir') diskCalls++;
  });
  try {
    await run.run({
      consume: () => {
        items++;
      },
    });
  } finally {
    stop();
  }
  await run.mustBeComplete();
  return { sent: sentOf(run), diskCalls, items };
}

/** What the compliance stream and its replays are without a fault, until all events are there. */
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
  await Promise.race([events.arrive(() => tombstones, stop.signal), ended]);
  tombstones = undefined;
  stop.abort(new Error('All events are there'));
  await ended;
  return { sent: sentOf(run), diskCalls: 0, items: events.count };
}

function sentOf({ row, world }: RowRun): Clean['sent'] {
  return sentTo(row.endpoints, world.proxy?.seen ?? []);
}
