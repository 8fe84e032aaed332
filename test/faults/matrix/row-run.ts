import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { AccountOptions, ComplianceGap, Cursor } from 'millrace';
import { loadLibrary } from '../load-library.js';
import { type TypedError, typedErrorOf } from '../typed-error-of.js';
import { mustBePart, mustEqual } from './compare.js';
import type { Planted } from './fault.js';
import type { Attempt, Millrace } from './pipeline.js';
import { committedOf, type RowName } from './pipelines.js';
import { Remaining } from './remaining.js';
import type { Prepared, Row } from './rows.js';
import { NO_LIMITS, TrialTiming } from './trial-timing.js';
import { World, type WorldOptions } from './world.js';

export interface Place {
  readonly folder: string;
  readonly cache: string;
  readonly library: URL;
}

/**
 * Pipelines for which `mustGoOnAt` checks the cursor of an error. They have a single source and
 * commit at each cursor.
 */
const GO_ON: readonly RowName[] = [
  'search',
  'counts',
  'job files',
  'job files, threads',
  'replay',
  'gzip files',
  'csv',
];

interface RunOptions {
  readonly out?: string;
  readonly resume?: Cursor | undefined;
  readonly planted?: Planted | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly gaps?: ComplianceGap[] | undefined;
  readonly consume?: Planted['consume'];
  readonly onEvent?: Attempt['onEvent'];
  readonly onTombstones?: Attempt['onTombstones'];
}

export class RowRun {
  readonly world: World;
  readonly row: Row;
  readonly prepared: Prepared;
  readonly out: string;
  #remaining: Remaining | undefined;
  #committed: ReadonlySet<string> = new Set();
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
    const setting = {
      millrace,
      folder,
      cache,
      repeats: options.repeats ?? false,
      large: options.large ?? false,
      plain: options.plain ?? false,
    };
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

  /**
   * Must be called before a fault is planted. After that, `mustRequestTheRest` and `mustGoOnAt` can
   * tell which requests the run still needs.
   */
  async watchRequests(): Promise<void> {
    this.#remaining = await Remaining.of(this.row, this.world, this.prepared);
  }

  async run({
    out = this.out,
    resume,
    planted,
    signal,
    gaps,
    consume,
    onEvent,
    onTombstones,
  }: RunOptions): Promise<void> {
    const timing = new TrialTiming(this.world.service.clock, planted?.skewMs);
    const account = this.#millrace.account(
      {
        ...this.world.clientAddresses,
        limits: NO_LIMITS,
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
        out,
        resume,
        input: this.prepared.input,
        consume: consume ?? planted?.consume ?? (() => {}),
        onGap: gaps === undefined ? undefined : gap => gaps.push(gap),
        onEvent,
        onTombstones,
        signal,
      });
    } finally {
      await account.close();
    }
  }

  async mustBeComplete(): Promise<number> {
    const found = await this.row.pipeline.found(this.out);
    mustEqual(found, this.prepared.expected);
    return found.length;
  }

  /**
   * Checks that the committed items are correct, and that no item that was committed at the last
   * check is missing. Resolves to the number of committed items.
   */
  async mustBeExact(): Promise<number> {
    const { allowed, expected } = this.prepared;
    const found = await committedOf(this.row.pipeline, this.out);
    mustBePart(found, allowed ?? expected);
    const keys = new Set(found.map(([key]) => key));
    const gone = [...this.#committed].filter(key => !keys.has(key));
    // Only `applyCompliance` may remove committed posts.
    if (gone.length > 0 && allowed === undefined)
      throw new Error(`No longer committed: ${gone.slice(0, 5)}, with ${keys.size} that are`);
    this.#committed = keys;
    return keys.size;
  }

  async mustRequestTheRest<T>(run: () => Promise<T>): Promise<T> {
    const check = this.#remaining?.expect(this.#committed);
    const result = await run();
    await check?.();
    return result;
  }

  /**
   * Checks the cursor of an error. A script that starts at this cursor must deliver the items that
   * are not committed. It must not request any other pages, files or chunks.
   */
  async mustGoOnAt(error: Error, signal: AbortSignal): Promise<number> {
    const { cursor, code } = error as { cursor?: Cursor; code?: string };
    const { row, prepared } = this;
    if (this.#remaining === undefined || !GO_ON.includes(row.name)) return 0;
    if (cursor === undefined) {
      // An error of the sink's disk has no cursor, because it does not come from the source. The
      // cursor is in the checkpoint.
      if (this.#committed.size === 0 || code === 'ERR_STORAGE') return 0;
      throw new Error(`It has no cursor, and ${this.#committed.size} items are committed`, {
        cause: error,
      });
    }
    const out = `${this.out}-at-cursor`;
    await mkdir(out);
    const resume = JSON.parse(JSON.stringify(cursor)) as Cursor;
    await this.mustRequestTheRest(() => this.run({ out, resume, signal }));
    const rest = this.#remaining.keys(this.#committed);
    const expected = [...prepared.expected].filter(([key]) => rest.has(key));
    mustEqual(await row.pipeline.found(out), new Map(expected));
    return 1;
  }

  typedErrorOf(run: () => Promise<unknown>): Promise<TypedError | undefined> {
    return typedErrorOf(this.#millrace, run);
  }
}
