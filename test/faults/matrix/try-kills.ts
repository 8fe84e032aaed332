import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
// This import is always the compiled library, even if `--library` names another one.
import { openTombstones, type Tombstones } from '../../../src/compliance/tombstones.js';
import { type CleanRun, type Ended, KilledChild, killAgainAndAgain } from '../../killed-child.js';
import type { Counts, Trial } from '../part.js';
import type { Random } from '../random.js';
import type { BundledChild } from './bundle-child.js';
import { ComplianceEvents } from './compliance.js';
import type { ChildWork, DiskPlace } from './pipeline-child.js';
import { mustUseThreads } from './pipelines.js';
import { type Place, RowRun } from './row-run.js';
import type { Row } from './rows.js';
import { NOW } from './windows.js';
import type { WorldOptions } from './world.js';

export interface CleanChild extends CleanRun {
  readonly bundle: BundledChild;
  readonly threadWrites: number;
}

export interface KilledRow extends Omit<Place, 'folder'> {
  readonly row: Row;
  readonly kill: 'random' | 'disk call';
  /** The number of processes that are killed at a disk call. @default 2 */
  readonly kills?: number | undefined;
  readonly world?: WorldOptions | undefined;
}

/** The delay of each item. It makes most kills happen in the middle of the run. */
const PACE_MS = 1;

export async function tryKills(
  { row, kill, kills: wanted, world, library, cache }: KilledRow,
  clean: CleanChild,
  { random, folder, signal }: Trial,
): Promise<Counts> {
  const run = await RowRun.open(row, { folder, cache, library }, world);
  try {
    await run.watchRequests();
    let kills = 0;
    let committed = 0;
    const children: KilledChild[] = [];
    /**
     * Waits until a process completes or dies. It may request only items that earlier processes
     * have not committed.
     */
    const tryChild = async (end: () => Promise<Ended>) => {
      const ended = await run.mustRequestTheRest(end);
      if (ended === 'killed') {
        kills++;
        committed += await run.mustBeExact();
      }
      return ended;
    };
    await killAgainAndAgain(
      {
        kill,
        kills: wanted,
        clean,
        attempt: tryChild,
        start: dieAt => {
          const place = dieAt === undefined ? undefined : placeOf(dieAt, clean, random);
          const child = startChild(run, clean.bundle, place);
          children.push(child);
          return child;
        },
      },
      { random, signal },
    );
    const atThreads = children.filter(({ printed }) => printed.includes('thread\n')).length;
    return {
      hits: kills,
      kills,
      committed,
      items: await run.mustBeComplete(),
      ...(kill === 'disk call' && clean.threadWrites > 0 && { 'writes of threads': atThreads }),
    };
  } finally {
    await run.close();
  }
}

/**
 * Kills a script that reads the compliance stream. The stream is endless, so the last process is
 * killed, too, when all events have arrived.
 */
export async function killCompliance(
  { row, library, cache }: KilledRow,
  bundle: BundledChild,
  { random, folder, signal }: Trial,
): Promise<Counts> {
  const run = await RowRun.open(row, { folder, cache, library });
  const events = new ComplianceEvents(run.world, random);
  try {
    const store = path.join(run.out, 'tombstones');
    const kills = random.whole(1, 3);
    let committed = 0;
    for (let times = 0; times < kills; times++) {
      const child = startChild(run, bundle);
      await child.started;
      // In half of the trials, the first burst is sent before the stream connects, so a replay
      // delivers it later.
      const isEarly = random.chance(0.5);
      if (isEarly) events.burst();
      await events.connected();
      if (!isEarly) {
        await child.told('tombstones');
        events.burst();
        await events.recorded(store);
      }
      await sleep(random.next() * 150);
      child.kill();
      await child.end();
      committed += await events.mustBeKept(store);
    }
    const last = startChild(run, bundle);
    await last.told('tombstones');
    let tombstones: Tombstones | undefined = await openTombstones(store, { readOnly: true });
    const over = new AbortController();
    const failed = last.ended.then(() => {
      throw new Error(`The stream ended: ${last.errors}`);
    });
    failed.catch(() => {});
    try {
      const ended = AbortSignal.any([signal, over.signal]);
      await Promise.race([events.arrive(() => tombstones, ended), failed]);
    } finally {
      over.abort();
      const opened = tombstones;
      tombstones = undefined;
      await opened.close();
    }
    last.kill();
    await last.end();
    await events.mustBeIn(store, []);
    return { hits: kills, kills, committed, items: events.count };
  } finally {
    await run.close();
  }
}

export async function cleanChild(run: RowRun, bundle: BundledChild): Promise<CleanChild> {
  const child = startChild(run, bundle);
  await child.started;
  const started = performance.now();
  await child.end();
  const ms = performance.now() - started;
  await run.mustBeComplete();
  const { calls, threadWrites = 0, threadMessages = 0 } = child.disk;
  mustUseThreads(run.row.name, { threadWrites, threadMessages });
  return { bundle, diskCalls: calls, threadWrites, ms };
}

/** If worker threads of the pipeline write files, about half of the kills hit one of their writes. */
function placeOf(call: number, { threadWrites }: CleanChild, random: Random): DiskPlace {
  if (threadWrites === 0 || random.chance(0.5)) return { call, ofThreads: false };
  return { call: random.whole(1, threadWrites), ofThreads: true };
}

function startChild(
  run: RowRun,
  { script, library }: BundledChild,
  dieAt?: DiskPlace,
): KilledChild {
  const work: ChildWork = {
    row: run.row.name,
    library: library.href,
    addresses: run.world.clientAddresses as Record<string, string>,
    out: run.out,
    input: run.prepared.input,
    now: NOW,
    paceMs: PACE_MS,
    dieAt,
  };
  return new KilledChild(script, [JSON.stringify(work)]);
}
