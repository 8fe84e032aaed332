import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { AccountOptions } from 'millrace';
import type { Endpoint } from 'millrace/service';
import { loadLibrary } from '../load-library.js';
import type { Cell, Counts, Trial } from '../part.js';
import { mustBePart, mustEqual } from './compare.js';
import { watchDisk } from './failing-disk.js';
import type { Clean, Fault, Planted } from './faults.js';
import { type Gap, isNamed, mustName, type NamedMinutes } from './named-gaps.js';
import { committedOf, type Millrace } from './pipelines.js';
import type { Prepared, Row } from './rows.js';
import { TrialTiming } from './trial-timing.js';
import { minuteOf } from './windows.js';
import { World, type WorldOptions } from './world.js';

export interface Place {
  /** Of the trial. */
  readonly folder: string;
  /** What is made once for all trials. */
  readonly cache: string;
  /** The compiled library. */
  readonly library: URL;
}

/** One trial's world, and runs of its row in this process. */
export class RowRun {
  readonly world: World;
  readonly row: Row;
  readonly prepared: Prepared;
  readonly out: string;
  readonly #millrace: Millrace;

  private constructor(row: Row, world: World, prepared: Prepared, out: string, millrace: Millrace) {
    this.row = row;
    this.world = world;
    this.prepared = prepared;
    this.out = out;
    this.#millrace = millrace;
  }

  static async open(
    row: Row,
    { folder, cache, library }: Place,
    options: WorldOptions = {},
  ): Promise<RowRun> {
    const millrace = await loadLibrary({ library });
    const setting = { millrace, folder, cache, repeats: options.repeats ?? false };
    const stateFolder = await row.state?.(setting);
    const world = await World.open({ ...options, service: { stateFolder, ...options.service } });
    try {
      const prepared = await row.prepare({ ...setting, world });
      const out = path.join(folder, 'out');
      await mkdir(out);
      await prepared.fill?.(out);
      return new RowRun(row, world, prepared, out, millrace);
    } catch (error) {
      await world.close();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.world.close();
  }

  /** One run of the script. Resolves to the waits of the library. */
  async run({
    planted,
    signal,
    gaps,
    consume,
    onTombstones,
  }: {
    planted?: Planted | undefined;
    signal?: AbortSignal | undefined;
    gaps?: Gap[] | undefined;
    consume?: ((index: number) => Promise<void> | void) | undefined;
    onTombstones?: Parameters<Row['pipeline']['run']>[0]['onTombstones'];
  }): Promise<{ slept: readonly number[] }> {
    const timing = new TrialTiming(this.world.service.clock, planted?.skewMs);
    const account = this.#millrace.account(
      {
        ...this.world.clientAddresses,
        limits: { search: [], jobReads: [], replay: [], compliance: [] },
        timing,
        ...(planted?.skewMs === undefined && {
          serviceTime: () => this.world.service.clock.now(),
        }),
        ...planted?.account,
      } as AccountOptions,
      {},
    );
    try {
      await this.row.pipeline.run({
        millrace: this.#millrace,
        account,
        out: this.out,
        input: this.prepared.input,
        consume: consume ?? planted?.consume ?? (() => {}),
        onGap: gaps === undefined ? undefined : gap => gaps.push(gap),
        onTombstones,
        signal,
      });
      return { slept: timing.slept };
    } finally {
      await account.close();
    }
  }

  async mustBeComplete(): Promise<number> {
    const found = await this.row.pipeline.found(this.out);
    mustEqual(found, this.prepared.expected);
    return found.length;
  }

  /** What is committed is right, as far as it goes. */
  async mustBeExact(): Promise<void> {
    const { allowed, expected } = this.prepared;
    mustBePart(await committedOf(this.row.pipeline, this.out), allowed ?? expected);
  }

  isTyped(error: unknown): error is Error & { code: string } {
    return error instanceof this.#millrace.MillraceError;
  }
}

/** What a run without a fault does. */
export async function cleanRun(run: RowRun): Promise<Clean> {
  const { faults } = run.world.service;
  const counters = run.row.endpoints.map(endpoint => ({
    endpoint,
    id: faults.plant({ kind: 'delay', ms: 0, endpoint, times: 'always' }).id,
  }));
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
  const requests = new Map<Endpoint, number>(
    counters.map(({ endpoint, id }) => [
      endpoint,
      faults.list().find(planted => planted.id === id)?.hits ?? 0,
    ]),
  );
  return { requests, diskCalls, items };
}

export interface Target extends Omit<Place, 'folder'> {
  readonly row: Row;
  readonly fault: Fault;
  readonly cell: Cell;
  readonly clean: Clean;
}

/** One trial of a fault in this process. */
export async function tryFault(
  { row, fault, cell, clean, library, cache }: Target,
  { random, folder, signal }: Trial,
): Promise<Counts> {
  const run = await RowRun.open(row, { folder, cache, library }, fault.world?.(row));
  const { world, prepared } = run;
  let planted: Planted | undefined;
  try {
    planted = await fault.plant({ row, world, random, clean, input: prepared.input, out: run.out });
    const counts = await expectIn(run, cell, planted, signal);
    return counts;
  } finally {
    await planted?.lift();
    await run.close();
  }
}

async function expectIn(
  run: RowRun,
  cell: Cell,
  planted: Planted,
  signal: AbortSignal,
): Promise<Counts> {
  if (cell.expects === 'error') {
    const error = await run.run({ planted, signal }).then(
      () => undefined,
      (thrown: unknown) => thrown ?? new Error('undefined was thrown'),
    );
    const hits = planted.hits();
    if (hits === 0) return { hits: 0, items: await run.mustBeComplete() };
    if (error === undefined && planted.mayRecover)
      return { hits: 1, items: await run.mustBeComplete() };
    if (error === undefined)
      throw new Error(`The run ended as if nothing had been: ${planted.what?.() ?? ''}`);
    if (!run.isTyped(error)) throw error;
    if (planted.error !== undefined && !planted.error.test(error.message)) throw error;
    // It rewrites what is damaged.
    if (run.row.name === 'applyCompliance') await planted.lift();
    await run.mustBeExact();
    await planted.lift();
    if (planted.isFinal) return { hits: 1, items: 0 };
    await run.run({ signal });
    return { hits: 1, items: await run.mustBeComplete() };
  }
  const gaps: Gap[] = [];
  const min = planted.gap?.minutes();
  const { slept } = await run.run({ planted, signal, gaps });
  if (planted.waitedMs !== undefined && planted.hits() > 0) {
    const waited = slept.reduce((sum, ms) => sum + ms, 0);
    if (waited < planted.waitedMs) throw new Error(`Waited ${waited} ms only`);
  }
  const hits = Math.min(1, planted.hits());
  if (planted.gap !== undefined && min !== undefined)
    return { hits, gaps: gaps.length, items: await mustHaveGaps(run, gaps, planted.gap, min) };
  if (gaps.length > 0) throw new Error(`Gaps: ${JSON.stringify(gaps)}`);
  return { hits, items: await run.mustBeComplete() };
}

/** The gaps are exactly those; all is there but what they say is lost, and nothing twice or changed. */
async function mustHaveGaps(
  run: RowRun,
  gaps: readonly Gap[],
  { reason, minutes }: NamedMinutes,
  min: ReturnType<NamedMinutes['minutes']>,
): Promise<number> {
  mustName(gaps, { reason, min, max: minutes() });
  // Delivered, and only their number was never the one that the service stated.
  if (reason === 'unverified') return run.mustBeComplete();
  const { expected } = run.prepared;
  const isLost = (id: string) => isNamed(gaps, postedMinute(id));
  const found = await run.row.pipeline.found(run.out);
  mustEqual(found, new Map([...expected].filter(([id]) => !isLost(id))));
  return found.length;
}

/** The minute of a post by its id, which counts milliseconds since an epoch. */
function postedMinute(id: string): string {
  return minuteOf(Number((BigInt(id) >> 22n) + 1_288_834_974_657n));
}
