import { readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { MillraceError, OptionError } from '../../src/base/errors.js';
import { DAY, floorTo, formatTimestamp, HOUR, MINUTE } from '../../src/base/time.js';
import type { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { account } from '../../src/http/account.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { take } from '../../src/operators/take.js';
import { tap } from '../../src/operators/tap.js';
import { Activity } from '../../src/post/activity.js';
import { replay } from '../../src/replay/replay.js';
import { addReplayRules } from '../../src/replay/rule-calls.js';
import { counts } from '../../src/search/counts.js';
import { search } from '../../src/search/search.js';
import { createService, type Service } from '../../src/service/index.js';
import { committed } from '../../src/sinks/committed.js';
import { files } from '../../src/sinks/files.js';
import { tee } from '../../src/sinks/tee.js';
import { timingOf } from '../replay/service-timing.js';
import { StandIn } from '../sinks/stand-in.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';
import type { Row } from './covering-rows.js';
import {
  END,
  isIncremental,
  LATER,
  NOW,
  optionOf,
  SERVICE_VALUES,
  START,
  sourceOf,
} from './service-values.js';
import { hasCheckpoint, optionsIn } from './values.js';

interface Post {
  readonly id: string;
  readonly text: string;
  readonly at: number;
}

/** 45 posts within the window, one every 8 minutes, and 20 posts after it. */
const POSTS: readonly Post[] = [START, END + 50 * MINUTE].flatMap((from, later) =>
  Array.from({ length: later === 0 ? 45 : 20 }, (_, index) => ({
    id: String(1_000_000_000_000_000_000n + BigInt(1 + index + later * 100)),
    text: ['snow', 'snow and rain', 'snow 🌨', 'rain'][index % 4]!,
    at: from + 4 * MINUTE + index * 8 * MINUTE,
  })),
);
const RULES = [
  { value: 'snow', tag: 'snow' },
  { value: 'rain', tag: 'rain' },
];
/** The first run of a row is aborted after this many items. */
const ABORTED_AFTER = 7;
const ABORTED = new Error('aborted');
const MAX_RUNS = 20;

let service: Service;
let requests = 0;
let addresses: Awaited<ReturnType<Service['start']>>;

/** Starts the service that all rows use. */
export async function startService(): Promise<void> {
  service = createService({
    ...{ limits: 'relaxed', heartbeatMs: 50 },
    posts: POSTS.map(({ id, text, at }) => ({ id, text, postedAt: at })),
  });
  addresses = await service.start(0);
  service.clock.freeze();
  service.on('request', () => requests++);
  await addReplayRules(acme(), RULES.slice(0, 1));
}

export const stopService = (): Promise<void> => service.stop();

const acme = () => account({ ...addresses, timing: timingOf(service), retry: { attempts: 1 } }, {});

/** The state of one row: its outputs and the calls of its functions. */
export class ServiceRow {
  readonly row: Row;
  readonly seen = new Map<string, unknown[]>();
  readonly out: string;
  readonly #target = new StandIn<unknown>();
  readonly #requestsBefore = requests;
  #run = 0;

  constructor(row: Row, folder: string) {
    this.row = row;
    this.out = path.join(folder, 'out');
  }

  /** The number of requests that the runs have sent. */
  get requests(): number {
    return requests - this.#requestsBefore;
  }

  /** Runs the pipeline once. */
  async run(): Promise<unknown> {
    this.#run++;
    this.#target.revive();
    const { row } = this;
    const ending = new AbortController();
    let count = 0;
    const abort = tap(() => {
      if (this.#run === 1 && ++count === ABORTED_AFTER) ending.abort(ABORTED);
    });
    const stages: unknown[] = [this.#source()];
    if (row.dedupe === 'yes') stages.push(dedupe(this.#options('dedupe')));
    if (row.take === 'yes') stages.push(take(Number(row['take.(count)'])));
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

  /** Returns the contents of each sink, one string per item. */
  async items(): Promise<Readonly<Record<string, readonly string[]>>> {
    const { row } = this;
    return {
      ...(row.files === 'yes' && { files: (await this.#lines()).map(itemOf) }),
      ...(row.committed === 'yes' && {
        committed: this.#target.rows.map(one =>
          itemOf(one instanceof Activity ? one.raw.toString() : JSON.stringify(one)),
        ),
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

/** Returns the compared part of an item: id, text and tags of a post, or the count of a bucket. */
function itemOf(line: string): string {
  const item = JSON.parse(line) as Record<string, unknown>;
  if ('timePeriod' in item) return `${item.timePeriod} ${item.count}`;
  const { matching_rules: rules = [] } = item as { matching_rules?: { tag: string }[] };
  return [item.id_str, item.text, ...rules.map(({ tag }) => tag ?? '').toSorted()]
    .join(' ')
    .trimEnd();
}

/**
 * Runs a row until it completes, and again some hours later. Compares the contents of the sinks
 * after both.
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
  if (row['flow.(stop)'] === 'the service fails') plantFault(row);
  const errors: unknown[] = [];
  for (let runs = 0; ; runs++) {
    try {
      await run.run();
      break;
    } catch (error) {
      errors.push(error);
      const isExpected = error instanceof MillraceError && !(error instanceof OptionError);
      if (!isExpected && error !== ABORTED) throw error;
      if (runs === MAX_RUNS) throw new AggregateError(errors, 'The row never ends');
    }
    service.faults.clear();
  }
  service.faults.clear();
  const mayStop = row['flow.(stop)'] !== 'none' || optionOf(row, 'budget') === 'a request';
  if (errors.length > 0 && !mayStop) throw errors[0];
  await check(run, [NOW]);
  if (!hasCheckpoint(row)) return;
  service.clock.set(LATER);
  const before = requests;
  for (let runs = 0; ; runs++) {
    try {
      await run.run();
      break;
    } catch (error) {
      if (runs === MAX_RUNS || optionOf(row, 'budget') !== 'a request') throw error;
    }
  }
  if (!isIncremental(row)) expect(requests).toBe(before);
  await check(run, isIncremental(row) ? [NOW, LATER] : [NOW]);
}

/** Makes the second request of a run fail, or interrupts a replay. */
function plantFault(row: Row): void {
  if (row.replay === 'yes')
    service.faults.plant({ kind: 'content-cut', endpoint: 'replay', afterMessages: 3 });
  else
    service.faults.plant({
      ...{ kind: 'status', status: 503, times: 'always', skip: 1 },
      endpoint: row.counts === 'yes' ? 'counts' : 'search',
    });
}

async function check(run: ServiceRow, times: readonly number[]): Promise<void> {
  const { row } = run;
  const items = times.flatMap((now, index) => itemsOf(row, now, times[index - 1]));
  const wanted = row.take === 'yes' ? items.slice(0, Number(row['take.(count)'])) : items;
  // A replay may request the same minutes again, which changes the order.
  const isOrdered = row.replay === 'no';
  const inOrder = (list: readonly string[]) => (isOrdered ? list : list.toSorted());
  for (const [sink, found] of Object.entries(await run.items()))
    expect({ sink, items: inOrder(found) }).toEqual({ sink, items: inOrder(wanted) });
  for (const option of ['onDamaged', 'onGap'])
    expect(run.seen.get(`${sourceOf(row)}.${option}`)).toBeUndefined();
}

/**
 * Returns the items that a run should deliver.
 * @param before The time of the previous run, for an incremental source.
 */
function itemsOf(row: Row, now: number, before: number | undefined): string[] {
  const { from, to } = windowOf(row, now, before);
  const posts = POSTS.filter(({ at }) => from <= at && at < to);
  const has = (word: string) => (post: Post) => post.text.includes(word);
  switch (sourceOf(row)) {
    case 'search': {
      const found = posts.filter(has('snow')).toReversed();
      const limit = Number(row['search.limit']) || Number.POSITIVE_INFINITY;
      const size = Number(row['search.maxResults']) || Math.min(Math.max(limit, 10), 500);
      const pages = Number(row['search.pages']) || Number.POSITIVE_INFINITY;
      return found
        .slice(0, Math.min(limit, size * pages))
        .map(({ id, text }) =>
          [id, text, ...(row['search.tag'] === 'given' ? ['a tag'] : [''])].join(' ').trimEnd(),
        );
    }
    case 'searchRules': {
      const found = posts.toReversed();
      const isEach = row['searchRules.queryLimits'] === 'a rule each';
      const [first, others] = [found.filter(has('snow')), found.filter(post => !has('snow')(post))];
      return (isEach ? [...first, ...others] : found).map(post => {
        const tags = RULES.map(({ tag }) => tag).filter(tag => has(tag)(post));
        return [post.id, post.text, ...tags.toSorted()].join(' ');
      });
    }
    case 'counts': {
      const length = bucketOf(row);
      const buckets: string[] = [];
      for (let start = floorTo(length, from); start < to; start += length) {
        const count = posts
          .filter(has('snow'))
          .filter(({ at }) => start <= at && at < start + length);
        buckets.push(`${formatTimestamp(start)} ${count.length}`);
      }
      return buckets;
    }
    default: {
      const isOfRules = row['replay.streamType'] === 'rulestream';
      return (isOfRules ? posts.filter(has('snow')) : posts).map(({ id, text }) =>
        [id, text, ...(isOfRules ? ['snow'] : [])].join(' '),
      );
    }
  }
}

const bucketOf = (row: Row): number =>
  ({ day: DAY, minute: MINUTE })[row['counts.bucket'] ?? ''] ?? HOUR;

function windowOf(row: Row, now: number, before: number | undefined) {
  // A minute is complete in the service only after some time.
  const ageMs = row.replay === 'yes' ? 31 * MINUTE : MINUTE;
  const endOf = (time: number) =>
    floorTo(row.counts === 'yes' ? bucketOf(row) : MINUTE, time - ageMs);
  const toDate = optionOf(row, 'toDate') === 'not given' ? now : END;
  const to = isIncremental(row) ? endOf(now) : toDate;
  const fromDate = optionOf(row, 'fromDate') === 'not given' ? to - 30 * DAY : START;
  const from = before === undefined ? fromDate : endOf(before);
  const half = from + (to - from) / 2;
  switch (optionOf(row, 'shard')) {
    case '1/2':
      return { from, to: half };
    case '2/2':
      return { from: half, to };
    default:
      return { from, to };
  }
}
