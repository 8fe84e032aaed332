import { setTimeout as sleep } from 'node:timers/promises';
import { type Ended, KilledChild, killAgainAndAgain } from '../../killed-child.js';
import { MemoryWatch } from '../../memory-watch.js';
import { failDisk, watchDisk } from '../matrix/failing-disk.js';
import { type Counts, cellName, type Trial } from '../part.js';
import type { Random } from '../random.js';
import { absentCells } from './absent-cells.js';
import type { ReaderWork } from './reader-child.js';
import { ReaderRun, type Reading } from './reader-run.js';
import type { StreamCell, StreamSetting } from './stream-setting.js';
import { tryDamaged, tryExpired, tryRepeated } from './try-messages.js';
import { block, plantOnWire } from './wire-faults.js';
import type { WireProxy } from './wire-proxy.js';

const MIB = 2 ** 20;
/** This pause is longer than a reader waits for a heartbeat, so the reader subscribes again. */
const PAUSE_MS = 2_000;
const SLOW = { sleepMs: 8, limitBytes: 24 * MIB };

interface Clean {
  readonly passed: WireProxy['passed'];
  readonly diskCalls: number;
  readonly posts: number;
}

async function readingOf(setting: StreamSetting, random: Random): Promise<Reading> {
  const world = await setting.world();
  const stream = await world.filled(random.pick(['single', 'batches'] as const));
  const shard = random.pick([undefined, { index: random.whole(1, 2), of: 2 }]);
  return { world, stream, shard };
}

const keyOf = ({ stream, shard }: Reading) => `${stream.name} ${shard?.index ?? ''}`;

function cleanReader(setting: StreamSetting, reading: Reading): Promise<Clean> {
  return setting.once(`reader ${keyOf(reading)}`, async folder => {
    const run = await ReaderRun.open(setting.libraries, { folder }, reading);
    let diskCalls = 0;
    const stop = await watchDisk(run.out, call => {
      if (call !== 'mkdir') diskCalls++;
    });
    try {
      await run.run();
      const { posts = 0 } = await run.mustBeComplete();
      return { passed: run.proxy.passed, diskCalls, posts };
    } finally {
      stop();
      await run.close();
    }
  });
}

type Attempt = (run: ReaderRun, trial: Trial, clean: Clean) => Promise<Counts>;

/** Turns an attempt into a trial that reads a stream shared by all trials. */
const reads =
  (attempt: Attempt) =>
  async (setting: StreamSetting, trial: Trial): Promise<Counts> => {
    const reading = await readingOf(setting, trial.random);
    const clean = await cleanReader(setting, reading);
    const run = await ReaderRun.open(setting.libraries, trial, reading);
    try {
      return await attempt(run, trial, clean);
    } finally {
      await run.close();
    }
  };

const onWire = (kind: 'reset' | 'early end' | 'stall' | 'split') =>
  reads(async (run, { random }, { passed }) => {
    const isHit = plantOnWire(run.proxy, kind, passed, random);
    await run.run();
    return { hits: Number(isHit()), ...(await run.mustBeComplete()) };
  });

const paused = reads(async (run, { random }, { posts }) => {
  const at = random.whole(0, Math.floor(posts * 0.7));
  await run.run({
    consume: async index => {
      if (index !== at) return;
      // While nothing is forwarded, the reader sends further requests. A few stalls last until the
      // reader has reconnected.
      run.proxy.stall(random.chance(0.8) ? PAUSE_MS + random.whole(300, 1_500) : undefined);
      await sleep(PAUSE_MS);
    },
  });
  return { hits: Number(run.proxy.held > 0), ...(await run.mustBeComplete()) };
});

const onDisk = (code: 'ENOSPC' | 'EIO') =>
  reads(async (run, { random }, { diskCalls }) => {
    const disk = await failDisk(run.out, code, random.whole(1, diskCalls));
    try {
      const error = await run.error();
      if (disk.hits() === 0) {
        if (error !== undefined) throw error;
        return { hits: 0 };
      }
      if (error === undefined) throw new Error(`It ended as if nothing had been: ${disk.what()}`);
    } finally {
      disk.lift();
    }
    const committed = await run.mustBeExact();
    await run.mustReadTheRest(() => run.run());
    return { hits: 1, committed, ...(await run.mustBeComplete()) };
  });

const killed =
  (kill: 'random' | 'disk call') =>
  async (setting: StreamSetting, trial: Trial): Promise<Counts> => {
    const child = await setting.child;
    const reading = await readingOf(setting, trial.random);
    const start = (run: ReaderRun, dieAt?: number) => {
      const { options, out } = run;
      const work: ReaderWork = {
        library: child.library.href,
        options: { ...options, connection: options.connection.toJSON() },
        out,
        dieAt,
      };
      return new KilledChild(child.script, [JSON.stringify(work)]);
    };
    const clean = await setting.once(`child ${keyOf(reading)}`, async folder => {
      const run = await ReaderRun.open(setting.libraries, { folder }, reading);
      try {
        const process = start(run);
        await process.started;
        const started = performance.now();
        await process.end();
        await run.mustBeComplete();
        return { diskCalls: process.disk.calls, ms: performance.now() - started };
      } finally {
        await run.close();
      }
    });
    const run = await ReaderRun.open(setting.libraries, trial, reading);
    let [kills, committed] = [0, 0];
    const attempt = async (end: () => Promise<Ended>) => {
      const ended = await run.mustReadTheRest(end);
      if (ended === 'killed') {
        kills++;
        committed += await run.mustBeExact();
      }
      return ended;
    };
    try {
      await killAgainAndAgain({ kill, clean, attempt, start: dieAt => start(run, dieAt) }, trial);
      return { hits: kills, kills, committed, ...(await run.mustBeComplete()) };
    } finally {
      await run.close();
    }
  };

async function slow(setting: StreamSetting, trial: Trial): Promise<Counts> {
  const world = await setting.world();
  const stream = await world.filled('large');
  const run = await ReaderRun.open(setting.libraries, trial, { world, stream });
  const memory = await MemoryWatch.start();
  let total = 0;
  try {
    await run.run({
      consume: async (index, bytes) => {
        total += bytes;
        await sleep(SLOW.sleepMs);
        if (index % 12 === 0) await memory.mustBeBelow(SLOW.limitBytes);
      },
    });
    const counts = { MiB: Math.round(total / MIB), 'grown MiB': Math.ceil(memory.grown / MIB) };
    // The fault counts only if a reader that kept everything in memory would exceed the limit.
    return { hits: Number(total > SLOW.limitBytes), ...counts, ...(await run.mustBeComplete()) };
  } finally {
    await run.close();
  }
}

async function starved(setting: StreamSetting, trial: Trial): Promise<Counts> {
  const { random } = trial;
  const world = await setting.world('short pings');
  const stream = await world.filled('single');
  const run = await ReaderRun.open(setting.libraries, trial, { world, stream });
  const at = random.whole(0, Math.floor(run.expected.size * 0.7));
  try {
    await run.run({
      consume: index => {
        if (index === at) block(random);
      },
    });
    return { hits: Number(run.proxy.connections > 1), ...(await run.mustBeComplete()) };
  } finally {
    await run.close();
  }
}

/** From a random moment on, the server refuses the login. It also closes the connection. */
async function locked(setting: StreamSetting, trial: Trial): Promise<Counts> {
  const { random } = trial;
  const world = await setting.world('logins');
  const stream = await world.filled(random.pick(['single', 'batches'] as const));
  const run = await ReaderRun.open(setting.libraries, trial, { world, stream });
  // Usually refuses the login before the reader's second request. The reader still delivers
  // messages that have already arrived, so a later refusal may have no effect.
  const at = random.whole(0, random.chance(0.8) ? 10 : Math.floor(run.expected.size / 2));
  try {
    const error = await run.error({
      consume: index => (index === at ? world.setLogin(false) : undefined),
    });
    await world.setLogin(true);
    // There is no error if the server had already sent all messages.
    if (error === undefined) return { hits: 0 };
    if ((error as { failure?: unknown }).failure !== 'refused') throw error;
    const committed = await run.mustBeExact();
    await run.mustReadTheRest(() => run.run());
    return { hits: 1, committed, ...(await run.mustBeComplete()) };
  } finally {
    await world.setLogin(true);
    await run.close();
  }
}

const cell = (
  fault: string,
  expects: StreamCell['expects'],
  attempt: NonNullable<StreamCell['attempt']>,
  draws?: number,
): StreamCell => ({ name: cellName('reader', fault), expects, attempt, draws });

export const READER_CELLS: readonly StreamCell[] = [
  cell('kill -9 at random', 'recovers', killed('random')),
  cell('kill -9 at a disk call', 'recovers', killed('disk call')),
  cell('reset', 'recovers', onWire('reset')),
  cell('early end', 'recovers', onWire('early end')),
  cell('stall', 'waits', onWire('stall')),
  cell('stall, consumer paused', 'waits', paused),
  cell('split at any byte', 'recovers', onWire('split')),
  cell('401 in the middle', 'error', locked),
  cell('repeated messages', 'recovers', tryRepeated, 1),
  cell('malformed message', 'error', tryDamaged('malformed'), 1),
  cell('oversized message', 'error', tryDamaged('oversized'), 1),
  cell('consumer 100 times slower', 'recovers', slow, 1),
  cell('expired messages', 'gap', tryExpired),
  {
    name: cellName('reader', 'clock an hour off'),
    expects: 'none',
    why: 'a reader compares no times',
  },
  ...absentCells('reader'),
  cell('full disk', 'error', onDisk('ENOSPC')),
  cell('failing disk', 'error', onDisk('EIO')),
  cell('starved of CPU', 'recovers', starved),
];
