import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryWatch } from '../../memory-watch.js';
import { type Counts, cellName, type Trial } from '../part.js';
import { absentCells } from './absent-cells.js';
import { POSTS, publishes, SETTINGS } from './publisher-run.js';
import type { StreamCell, StreamSetting } from './stream-setting.js';
import { BATCH } from './stream-world.js';
import { clockOff, expired, locked, refused } from './try-publisher-again.js';
import { block, plantOnWire } from './wire-faults.js';
import type { WireProxy } from './wire-proxy.js';

const MIB = 2 ** 20;
/**
 * A slow link: 40 MiB take 4 s to reach the server. The publisher has at most 2 MiB (8 posts of 256
 * KiB) of unacknowledged data.
 */
const SLOW = { msPerMiB: 100, maxInFlight: 8, limitBytes: 24 * MIB };
/** The servers accept messages of up to 1 MiB. This padding makes a post too large for them. */
const PADDING = 'x'.repeat(1_200_000);
/**
 * `WINDOW_MS` is the shortest duplicate window that `toJetStream` accepts: within it, servers drop
 * a repeated message. After `BEHIND_WINDOW_MS`, they store the message again.
 */
const WINDOW_MS = 1_000;
const BEHIND_WINDOW_MS = 1_200;

const onWire =
  (kind: 'reset' | 'early end' | 'stall' | 'split') =>
  async (setting: StreamSetting, trial: Trial): Promise<Counts> => {
    const { random } = trial;
    const world = await setting.world();
    const { key, options } = random.pick(SETTINGS);
    const clean = await setting.once(`publisher ${key}`, async () => {
      let passed: WireProxy['passed'] | undefined;
      await publishes(setting, trial, { world, options }, async run => {
        await run.run();
        passed = run.proxy.passed;
        return run.mustBeComplete();
      });
      if (passed === undefined) throw new Error('Nothing has passed');
      return passed;
    });
    return publishes(setting, trial, { world, options }, async run => {
      const isHit = plantOnWire(run.proxy, kind, clean, random);
      await run.run();
      return { hits: Number(isHit()), ...(await run.mustBeComplete()) };
    });
  };

/**
 * Tries a source that repeats posts. Servers drop repeated posts only within their duplicate
 * window. All other trials use `dedupe()`, which drops them in the script.
 */
async function repeated(setting: StreamSetting, trial: Trial): Promise<Counts> {
  const { random } = trial;
  const world = await setting.world();
  const how = random.pick(['in the window', 'behind the window', 'batches'] as const);
  const every = random.whole(2, 9);
  const { create } = world.target('');
  const publishing = {
    world,
    dedupe: how !== 'in the window',
    options: {
      ...(how === 'batches' && { batch: BATCH }),
      ...(how === 'behind the window' && { create: { ...create, duplicateWindowMs: WINDOW_MS } }),
    },
  };
  let repetitions = 0;
  return publishes(setting, trial, publishing, async run => {
    const before: string[] = [];
    await run.run({
      change: (record, index) => {
        before.push(record);
        if (index % every !== 0) return [record];
        repetitions++;
        return [record, random.pick(before)];
      },
      before: index =>
        how === 'behind the window' && index === POSTS / 2 ? sleep(BEHIND_WINDOW_MS) : undefined,
    });
    return { hits: Number(repetitions > 0), repetitions, ...(await run.mustBeComplete()) };
  });
}

async function slow(setting: StreamSetting, trial: Trial): Promise<Counts> {
  const world = await setting.world();
  const { messages } = await world.filled('large');
  const records = messages.flatMap(({ posts }) => posts);
  const options = { maxInFlight: SLOW.maxInFlight };
  return publishes(setting, trial, { world, records, options }, async run => {
    run.proxy.msPerMiB = SLOW.msPerMiB;
    const memory = await MemoryWatch.start();
    await run.run({
      before: async index => {
        if (index % 12 === 0) await memory.mustBeBelow(SLOW.limitBytes);
      },
    });
    const total = run.proxy.passed['to server'];
    const counts = { MiB: Math.round(total / MIB), 'grown MiB': Math.ceil(memory.grown / MIB) };
    return { hits: Number(total > SLOW.limitBytes), ...counts, ...(await run.mustBeComplete()) };
  });
}

async function starved(setting: StreamSetting, trial: Trial): Promise<Counts> {
  const { random } = trial;
  const world = await setting.world('short pings');
  const { options } = random.pick(SETTINGS);
  const at = random.whole(0, POSTS - 1);
  return publishes(setting, trial, { world, options }, async run => {
    await run.run({
      before: index => {
        if (index === at) block(random);
      },
    });
    return { hits: Number(run.proxy.connections > 1), ...(await run.mustBeComplete()) };
  });
}

const cell = (
  fault: string,
  expects: StreamCell['expects'],
  attempt: NonNullable<StreamCell['attempt']>,
  draws?: number,
): StreamCell => ({ name: cellName('publisher', fault), expects, attempt, draws });

const none = (fault: string, why: string): StreamCell => ({
  name: cellName('publisher', fault),
  expects: 'none',
  why,
});

const NO_FILES = 'a publisher writes no files: the servers keep its cursor';

export const PUBLISHER_CELLS: readonly StreamCell[] = [
  none('kill -9 at random', 'the cell `publisher` kills it while it publishes to a cluster'),
  none('kill -9 at a disk call', NO_FILES),
  cell('reset', 'recovers', onWire('reset')),
  cell('early end', 'recovers', onWire('early end')),
  cell('stall', 'waits', onWire('stall')),
  none('stall, consumer paused', 'it has no consumer; `stall` stops the acknowledgements'),
  cell('split at any byte', 'recovers', onWire('split')),
  cell('401 in the middle', 'error', locked, 1),
  cell('repeated messages', 'recovers', repeated, 1),
  cell(
    'malformed message',
    'error',
    refused(record => record.replace(/[}\s]+$/, ''), /^Not (JSON|a post)/),
    1,
  ),
  cell(
    'oversized message',
    'error',
    refused(record => record.replace('{', `{"padding":"${PADDING}",`), /max_payload/),
    1,
  ),
  cell('consumer 100 times slower', 'recovers', slow, 1),
  cell('expired messages', 'error', expired),
  cell('clock an hour off', 'recovers', clockOff, 1),
  ...absentCells('publisher'),
  none(
    'full disk',
    `${NO_FILES}; the cells \`storage-limit\` and \`full-disk\` are for those of servers`,
  ),
  none('failing disk', NO_FILES),
  cell('starved of CPU', 'recovers', starved),
];
