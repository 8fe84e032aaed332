import { readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { MillraceError, OptionError } from '../../src/base/errors.js';
import { compliance } from '../../src/compliance/compliance.js';
import type { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { jobFiles } from '../../src/jobs/job-files.js';
import { activities } from '../../src/operators/activities.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { take } from '../../src/operators/take.js';
import { tap } from '../../src/operators/tap.js';
import { Activity } from '../../src/post/activity.js';
import { isComplianceEvent } from '../../src/post/compliance-event.js';
import { replay } from '../../src/replay/replay.js';
import { counts } from '../../src/search/counts.js';
import { search } from '../../src/search/search.js';
import type { Fault } from '../../src/service/index.js';
import { committed } from '../../src/sinks/committed.js';
import { files } from '../../src/sinks/files.js';
import { tee } from '../../src/sinks/tee.js';
import { type Engaged, engagement } from '../../src/users/engagement.js';
import type { EngagementType } from '../../src/users/engagement-request.js';
import { StandIn } from '../sinks/stand-in.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';
import type { Row } from './covering-rows.js';
import { hasLiveEvent, itemsOf, totalsText } from './service-expected.js';
import {
  acme,
  injectLaterEvents,
  injectLiveEvent,
  job,
  LATER,
  LIVE_ID,
  NOW,
  RULES,
  requests,
  resetEvents,
  service,
} from './service-input.js';
import { isIncremental, optionOf, SERVICE_VALUES, sourceOf } from './service-values.js';
import { STOPPED_RUNS } from './suite-rows.js';
import { hasCheckpoint, optionsIn } from './values.js';

/** The first `STOPPED_RUNS` runs are aborted after this many items. */
const ABORTED_AFTER = 7;
const ABORTED = new Error('aborted');
const MAX_RUNS = 20;

export class ServiceRow {
  /** Whether a run has completed. Runs after it are not aborted. */
  isComplete = false;
  readonly row: Row;
  readonly seen = new Map<string, unknown[]>();
  readonly out: string;
  readonly #target = new StandIn<unknown>();
  readonly #requestsBefore = requests();
  #run = 0;
  /** Whether the test has sent the live compliance event. It does so once, during the first run. */
  #isLive = false;

  constructor(row: Row, folder: string) {
    this.row = row;
    this.out = path.join(folder, 'out');
  }

  get requests(): number {
    return requests() - this.#requestsBefore;
  }

  async run(): Promise<unknown> {
    this.#run++;
    this.#target.revive();
    const { row } = this;
    const ending = new AbortController();
    let count = 0;
    const abort = tap(() => {
      if (!this.isComplete && this.#run <= STOPPED_RUNS && ++count === ABORTED_AFTER)
        ending.abort(ABORTED);
    });
    const live = tap(() => {
      if (!this.#isLive) injectLiveEvent();
      this.#isLive = true;
    });
    const stages: unknown[] = [this.#source()];
    if (row.jobFiles === 'yes')
      stages.push(
        gunzip(unchecked(this.#options('gunzip'))),
        jsonLines(unchecked(this.#options('jsonLines'))),
        activities(unchecked(this.#options('activities'))),
      );
    if (hasLiveEvent(row)) stages.push(live);
    if (row.dedupe === 'yes') stages.push(dedupe(this.#options('dedupe')));
    if (row.take === 'yes') stages.push(take(Number(row['take.(count)'])));
    if (row.engagement === 'yes')
      stages.push(engagement(acme(), unchecked(this.#options('engagement'))));
    if (row['flow.(stop)'] === 'abort') stages.push(abort);
    const sinks = [
      ...(row.files === 'yes'
        ? [files(unchecked({ path: `${this.out}/all.jsonl`, ...this.#options('files') }))]
        : []),
      ...(row.committed === 'yes' ? [this.#committed()] : []),
    ];
    const sink =
      row.tee === 'yes'
        ? unchecked<(...args: unknown[]) => unknown>(tee)(...sinks, this.#options('tee'))
        : sinks[0];
    return unchecked<(...args: unknown[]) => Promise<unknown>>(pipeline)(...stages, sink, {
      signal: ending.signal,
      progress: 'off',
    });
  }

  #source(): Flow<unknown> {
    const source = sourceOf(this.row);
    const options = this.#options(source);
    switch (source) {
      case 'search':
        return search(acme(), unchecked({ query: 'snow', ...options }));
      case 'searchRules':
        return search(acme(), unchecked({ rules: RULES, ...options }));
      case 'counts':
        return counts(acme(), unchecked({ query: 'snow', ...options }));
      case 'jobFiles':
        return jobFiles(acme(), job, options);
      case 'compliance':
        return compliance(acme(), options);
      default:
        return unchecked<typeof replay>(replay)(acme(), unchecked(options));
    }
  }

  #committed(): unknown {
    const { transaction: _, ...options } = this.#options('committed');
    const isGiven = this.row['committed.transaction'] === 'given';
    const calls = isGiven ? this.#target.transactions : this.#target.ranges;
    return committed(unchecked({ ...options, ...calls }));
  }

  #options(stage: string): Record<string, unknown> {
    const context = {
      out: this.out,
      run: this.#run,
      saw: (what: string, value: unknown) => {
        this.seen.set(what, [...(this.seen.get(what) ?? []), value]);
      },
    };
    return optionsIn(this.row, stage, SERVICE_VALUES, context);
  }

  async items(): Promise<Readonly<Record<string, readonly string[]>>> {
    const { row } = this;
    return {
      ...(row.files === 'yes' && {
        files: (await this.#lines()).map(line => itemOf(JSON.parse(line))),
      }),
      ...(row.committed === 'yes' && {
        committed: this.#target.rows.map(itemOf),
      }),
    };
  }

  async #lines(): Promise<string[]> {
    const names = (await readdir(this.out).catch(() => [])).filter(name => name.startsWith('all'));
    expect(names.filter(name => /\.(part|lock)$/.test(name))).toEqual([]);
    const texts = await Promise.all(
      names.toSorted().map(async name => {
        const bytes = await readFile(path.join(this.out, name));
        return (bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).toString();
      }),
    );
    return texts.flatMap(text => text.split('\n').slice(0, -1));
  }
}

/**
 * Returns the part of an item that the tests compare: its id, and the fields that options change.
 */
function itemOf(given: unknown): string {
  const isRaw = given instanceof Activity || isComplianceEvent(given);
  const item = (isRaw ? JSON.parse(given.raw.toString()) : given) as Record<string, unknown>;
  if ('timePeriod' in item) return `${item.timePeriod} ${item.count}`;
  if ('activity' in item) {
    const { totals, errors } = item as unknown as Engaged<EngagementType, unknown>;
    return `${itemOf(item.activity)} ${totalsText(totals)} ${errors.length}`;
  }
  const { delete: deleted } = item as { delete?: { status: { id_str: string } } };
  if (deleted !== undefined) return `event ${deleted.status.id_str}`;
  const { matching_rules: rules = [] } = item as { matching_rules?: { tag: string }[] };
  return [item.id_str, item.text, ...rules.map(({ tag }) => tag ?? '').toSorted()]
    .join(' ')
    .trimEnd();
}

/**
 * Runs a pipeline with the options in `row` until it completes, and compares the contents of the
 * sinks. If there is a checkpoint, runs it once more some hours later and compares again.
 */
export async function tryServiceRow(row: Row): Promise<void> {
  const folder = await temporaryFolder();
  try {
    await tryIn(new ServiceRow(row, folder));
  } finally {
    service.faults.clear();
    await rm(folder, { recursive: true, force: true });
  }
}

async function tryIn(run: ServiceRow): Promise<void> {
  const { row } = run;
  service.clock.set(NOW);
  resetEvents();
  const errors: unknown[] = [];
  for (let runs = 0; ; runs++) {
    service.faults.clear();
    plantFaults(row, runs === 0);
    try {
      await run.run();
      run.isComplete = true;
      break;
    } catch (error) {
      errors.push(error);
      const isExpected = error instanceof MillraceError && !(error instanceof OptionError);
      if (!isExpected && error !== ABORTED) throw error;
      if (runs === MAX_RUNS) throw new AggregateError(errors, 'The row never ends');
    }
  }
  const mayStop =
    row['flow.(stop)'] !== 'none' ||
    row['engagement.(failure)'] === 'once' ||
    optionOf(row, 'budget') === 'a request';
  if (errors.length > 0 && !mayStop) throw errors[0];
  await check(run, [NOW]);
  if (!hasCheckpoint(row)) return;
  service.faults.clear();
  plantFaults(row, false);
  service.clock.set(LATER);
  injectLaterEvents();
  const before = requests();
  for (let runs = 0; ; runs++) {
    try {
      await run.run();
      break;
    } catch (error) {
      if (runs === MAX_RUNS || optionOf(row, 'budget') !== 'a request') throw error;
    }
  }
  if (!isIncremental(row)) expect(requests()).toBe(before);
  await check(run, isIncremental(row) ? [NOW, LATER] : [NOW]);
}

function plantFaults(row: Row, isFirst: boolean): void {
  const { faults } = service;
  if (row['jobFiles.(totals)'] === 'wrong')
    faults.plant({ kind: 'wrong-totals', totalFileSizeBytes: 1, times: 'always' });
  if (!isFirst) return;
  if (row['engagement.(failure)'] === 'once')
    faults.plant({ kind: 'status', endpoint: 'engagement', status: 503 });
  if (row['flow.(stop)'] === 'the service fails') faults.plant(faultOf(row));
}

function faultOf(row: Row): Fault {
  const always = { kind: 'status', status: 503, times: 'always', skip: 1 } as const;
  switch (sourceOf(row)) {
    case 'replay':
      return { kind: 'content-cut', endpoint: 'replay', afterMessages: 3 };
    case 'compliance':
      // `compliance` retries a replay without a limit after a 503. A 401 ends the run.
      return { ...always, endpoint: 'replay', status: 401 };
    case 'jobFiles':
      return { ...always, endpoint: 'job-files', skip: 3 };
    case 'counts':
      return { ...always, endpoint: 'counts' };
    default:
      return { ...always, endpoint: 'search' };
  }
}

async function check(run: ServiceRow, times: readonly number[]): Promise<void> {
  const { row, seen } = run;
  const items = times.flatMap((now, index) => itemsOf(row, now, times[index - 1]));
  const wanted = row.take === 'yes' ? items.slice(0, Number(row['take.(count)'])) : items;
  for (const [sink, found] of Object.entries(await run.items()))
    expect({ sink, items: comparable(found, row, times) }).toEqual({
      sink,
      items: comparable(wanted, row, times),
    });
  for (const option of ['onDamaged', 'onGap'])
    if (row['compliance.backfill'] !== 'false')
      expect(seen.get(`${sourceOf(row)}.${option}`)).toBeUndefined();
  if (row['jobFiles.onVerdict'] === 'given' && row.take === 'no')
    expect(seen.get('onVerdict')?.at(-1)).toMatchObject({ missing: [] });
}

/**
 * Returns the items in a form that can be compared. `compliance` may deliver an event more than
 * once, and may deliver the live event only in the second run.
 */
function comparable(items: readonly string[], row: Row, times: readonly number[]): string[] {
  const isLate = (item: string) => item === `event ${LIVE_ID}` && times.length === 1;
  if (row.compliance === 'yes') return [...new Set(items)].filter(item => !isLate(item)).toSorted();
  // The order is not compared in two cases. A replay may request minutes again. After a failure,
  // `jobFiles` delivers the missing files first.
  const isOrdered =
    row.replay === 'no' && (row.jobFiles === 'no' || row['flow.(stop)'] !== 'the service fails');
  return isOrdered ? [...items] : items.toSorted();
}
