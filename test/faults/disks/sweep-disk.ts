import { setImmediate as turn } from 'node:timers/promises';
import { inspect, isDeepStrictEqual } from 'node:util';
import { MOUNT, onDisk } from '../../storage/mounted-disk.js';
import { isChange, nodeError, SimulatedDisk } from '../../storage/simulated-disk.js';
import type { KeptFiles, Life } from './kept-files.js';

export type DiskFault = 'kill' | 'power' | 'ENOSPC' | 'EIO' | 'unreadable';

export interface SweepOptions {
  readonly fault: DiskFault;
  /** The maximum number of calls to try, spread over all calls. @default all calls */
  readonly calls?: number | undefined;
  /** Returns numbers from 0 to 1 that select which unsynced changes survive a power cut. */
  readonly random: () => number;
  /** Creates the simulated disk. Only for tests of `sweepDisk` itself. */
  readonly disk?: (() => SimulatedDisk) | undefined;
}

interface Whole {
  readonly states: readonly unknown[];
  readonly calls: readonly string[];
  readonly reads: readonly string[];
}

/**
 * Tries a fault at every call of a disk. A later process must find the state before or after the
 * interrupted step, and must be able to continue. Otherwise, this function throws.
 *
 * @returns The number of faults that took effect.
 */
export async function sweepDisk(kept: KeptFiles, options: SweepOptions): Promise<number> {
  const whole = await wholeRun(kept, options);
  const { fault, random } = options;
  const calls = fault === 'unreadable' ? whole.reads : whole.calls;
  // Only `EIO` and `unreadable` can affect a call that only reads.
  const isDue = (call: string) => isChange(call) || fault === 'EIO' || fault === 'unreadable';
  const due = [...calls.keys()].filter(at => isDue(calls[at] as string));
  const stride = Math.max(1, due.length / (options.calls ?? due.length));
  let hits = 0;
  for (let next = random() * (stride - 1); next < due.length; next += stride) {
    const index = Math.floor(next);
    const at = due[index] as number;
    const hit = await attempt(kept, whole, options, at).catch(error => {
      throw new Error(
        `${kept.name}, ${fault} at call ${at} (${calls[at]}): ${error instanceof Error ? error.message : inspect(error)}`,
        { cause: error },
      );
    });
    if (hit) hits++;
  }
  return hits;
}

/**
 * Runs the steps without a fault. Returns the state after each step, and the calls of the disk.
 * Also checks the names of the files, and that every resolved step is on disk.
 */
async function wholeRun(kept: KeptFiles, options: SweepOptions): Promise<Whole> {
  const states: unknown[] = [];
  const calls: string[] = [];
  const log = (into: string[]) => (call: string, file: string) => {
    into.push(`${call} ${file}`);
  };
  let disk = await preparedDisk(kept, options);
  for (let count = 0, steps = count; count <= steps; count++) {
    disk = await preparedDisk(kept, options);
    calls.length = 0;
    disk.before = log(calls);
    const life = await onDisk(disk, async () => kept.start());
    steps = life.steps.length;
    for (const step of life.steps.slice(0, count)) await onDisk(disk, step);
    const synced = disk.copy();
    synced.restart(() => 0);
    await onDisk(disk, async () => life.end?.());
    disk.before = () => {};
    disk.keepAll();
    states.push(await readOn(kept, disk));
    mustEqual(await readOn(kept, synced), states[count], `a power cut after ${count} steps`);
  }
  const names = disk.files().map(name => name.slice(MOUNT.length + 1));
  const unknown = names.filter(name => !kept.files.some(pattern => pattern.test(name)));
  const absent = kept.files.filter(pattern => !names.some(name => pattern.test(name)));
  if (unknown.length + absent.length > 0)
    throw new Error(`${kept.name}: unknown files ${inspect(unknown)}, no files ${inspect(absent)}`);
  const reads: string[] = [];
  disk.before = log(reads);
  await readOn(kept, disk);
  return { states, calls, reads };
}

async function attempt(
  kept: KeptFiles,
  whole: Whole,
  options: SweepOptions,
  at: number,
): Promise<boolean> {
  const { fault, random } = options;
  const disk = await preparedDisk(kept, options);
  if (fault === 'unreadable') return unreadable(kept, whole, disk, at);
  disk.calls = 0;
  let hit = false;
  if (fault === 'kill' || fault === 'power') disk.cutAt = at;
  else
    disk.before = (call, file) => {
      if (disk.calls - 1 !== at) return;
      hit = true;
      throw nodeError(fault, `${call} '${file}'`);
    };
  let life: Life | undefined;
  let done = 0;
  let failure: { readonly error: unknown } | undefined;
  try {
    life = await onDisk(disk, async () => kept.start());
    for (const step of life.steps) {
      await onDisk(disk, step);
      done++;
    }
  } catch (error) {
    failure = { error };
  }
  await ended();
  if (fault === 'kill' || fault === 'power') {
    hit = disk.calls > at;
    await endOn(disk, life);
    const images = fault === 'kill' ? [undefined] : [() => 0, random, random];
    for (const survives of images) {
      const image = disk.copy();
      if (survives === undefined) image.keepAll();
      else image.restart(survives);
      await mustGoOn(kept, whole, image, done);
    }
    return hit;
  }
  disk.before = () => {};
  if (failure !== undefined) mustBeTyped(failure.error);
  const image = disk.copy();
  // `keepAll` makes all files a minute older, so that a lock which could not be removed counts as
  // abandoned.
  disk.keepAll();
  if (life !== undefined && failure !== undefined && kept.endsAtFailure !== true)
    for (const step of life.steps.slice(done)) await onDisk(disk, step);
  await endOn(disk, life);
  if (kept.endsAtFailure !== true && life !== undefined)
    mustEqual(await readOn(kept, disk), whole.states.at(-1), 'the same process, trying again');
  for (const survives of [() => 0, random]) {
    const restarted = image.copy();
    restarted.restart(survives);
    await mustGoOn(kept, whole, restarted, done);
  }
  return hit;
}

/**
 * Makes one call fail in a process that only reads. Checks that the process fails with an error or
 * finds the right state, and that it damages nothing.
 */
async function unreadable(
  kept: KeptFiles,
  whole: Whole,
  disk: SimulatedDisk,
  at: number,
): Promise<boolean> {
  const life = await onDisk(disk, async () => kept.start());
  for (const step of life.steps) await onDisk(disk, step);
  await endOn(disk, life);
  disk.keepAll();
  let hit = false;
  disk.before = (call, file) => {
    if (disk.calls - 1 !== at) return;
    hit = true;
    throw nodeError('EIO', `${call} '${file}'`);
  };
  const found = await readOn(kept, disk).then(
    state => ({ state }),
    error => ({ error }),
  );
  disk.before = () => {};
  disk.keepAll();
  if ('error' in found) mustBeTyped(found.error);
  else mustEqual(found.state, whole.states.at(-1), 'a reader of a failing disk');
  mustEqual(await readOn(kept, disk), whole.states.at(-1), 'a reader after one of a failing disk');
  return hit;
}

/**
 * Checks that a process on this disk finds the state after `done` steps or after one more step.
 * Then checks that it completes the remaining steps.
 */
async function mustGoOn(
  kept: KeptFiles,
  { states }: Whole,
  disk: SimulatedDisk,
  done: number,
): Promise<void> {
  const found = await readOn(kept, disk);
  const [before, after] = [states[done], states[done + 1]];
  const isOne =
    isDeepStrictEqual(found, before) ||
    (done + 1 < states.length &&
      (isDeepStrictEqual(found, after) || kept.isBetween?.(found, before, after) === true));
  if (!isOne)
    throw new Error(
      `After ${done} whole steps, expected ${show(before)} or ${show(after)}, found ${show(found)}`,
    );
  const life = await onDisk(disk, async () => kept.start());
  for (const step of life.steps.slice(done)) await onDisk(disk, step);
  await onDisk(disk, async () => life.end?.());
  const final = disk.copy();
  final.restart(() => 0);
  mustEqual(await readOn(kept, final), states.at(-1), 'the next process');
}

async function preparedDisk(kept: KeptFiles, { disk }: SweepOptions): Promise<SimulatedDisk> {
  const prepared = disk?.() ?? new SimulatedDisk();
  prepared.put(`${MOUNT}/there`, Buffer.alloc(0));
  prepared.remove(`${MOUNT}/there`);
  await onDisk(prepared, async () => kept.prepare?.());
  prepared.syncAll();
  return prepared;
}

function readOn(kept: KeptFiles, disk: SimulatedDisk): Promise<unknown> {
  return onDisk(disk, () => kept.read());
}

/** Ends a killed process. It cannot close its files, so only its memory is released. */
async function endOn(disk: SimulatedDisk, life: Life | undefined): Promise<void> {
  await onDisk(disk, async () => life?.end?.()).catch(() => {});
}

/** Waits for calls that the killed process has already started. */
async function ended(): Promise<void> {
  for (let turns = 0; turns < 3; turns++) await turn();
}

function mustBeTyped(error: unknown): void {
  // The error of an incomplete download only names the missing files. The reason is the cause of
  // that error.
  const { code: outer, cause } = error as { code?: string; cause?: unknown };
  if (outer === 'ERR_INCOMPLETE') {
    mustBeTyped(cause);
    return;
  }
  const { code, path, message } = error as { code?: string; path?: string; message?: string };
  if (code !== 'ERR_STORAGE' || path === undefined || path === '')
    throw new Error(`Expected a StorageError with a path, got ${show(error)}`, { cause: error });
  if (!message?.includes(path)) throw new Error(`The message does not say where: ${message}`);
}

function mustEqual(found: unknown, expected: unknown, what: string): void {
  if (!isDeepStrictEqual(found, expected))
    throw new Error(`${what}: expected ${show(expected)}, found ${show(found)}`);
}

function show(value: unknown): string {
  return inspect(value, { depth: 6, breakLength: Number.POSITIVE_INFINITY, maxStringLength: 300 });
}
