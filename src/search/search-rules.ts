import { createHash } from 'node:crypto';
import { answerOf } from '../base/abortable.js';
import { cursorError } from '../base/check.js';
import { IncompleteError, MillraceError, OptionError } from '../base/errors.js';
import { isRecord } from '../base/record.js';
import type { Batch, Batches, Cursor, Run } from '../flow/flow.js';
import { ProgressParts } from '../flow/progress.js';
import { isCount } from '../json/type-guards.js';
import type { Activity } from '../post/activity.js';
import { IdWindow } from '../post/id-window.js';
import type { Rule, RuleMatcher } from '../rules/index/compile-rules.js';
import type { PackedQuery } from '../rules/pack-rules.js';
import { learnTime } from './incremental-window.js';
import type { Query } from './query.js';
import { positionOf } from './query-cursor.js';
import { type Results, runQuery, withDates } from './run-query.js';

/** The argument of `onQueries`: the queries that rules were packed into. */
export interface PackedQueries {
  readonly queries: readonly PackedQuery[];
  /**
   * The minimum number of requests of the run: one for each query that is not complete yet. `preview` also
   * estimates the pages of each query.
   */
  readonly requests: number;
}

/** A callback that gets the queries of a run before the first request. */
export type OnQueries = (packed: PackedQueries) => unknown;

export interface PackedSearch {
  readonly packed: readonly PackedQuery[];
  readonly queries: readonly [Query, ...Query[]];
  /**
   * Identifies the rules and the queries that they were packed into. A cursor with a different value is
   * refused.
   */
  readonly packing: string;
  readonly matcher: RuleMatcher;
  readonly onQueries: OnQueries | undefined;
  readonly resume: Cursor | undefined;
  readonly makeResults: () => Results<Activity>;
}

export function packingId(rules: readonly Rule[], packed: readonly PackedQuery[]): string {
  const hash = createHash('sha256');
  for (const { value, tag = null, id = null } of rules)
    hash.update(`${JSON.stringify([value, tag, id])}\n`);
  for (const { query } of packed) hash.update(`${JSON.stringify(query)}\n`);
  return `${sizes(rules.length, packed.length)}, sha256 ${hash.digest('hex').slice(0, 16)}`;
}

function sizes(rules: number, queries: number): string {
  return `${rules} ${rules === 1 ? 'rule' : 'rules'} in ${queries} ${queries === 1 ? 'query' : 'queries'}`;
}

interface State {
  /** The index of the query that is being fetched. Equals the number of queries if all are complete. */
  readonly query: number;
  /** The cursor in the current query. `undefined` at the start of the query. */
  readonly at: Cursor | undefined;
  /** The last cursor of the first query. All other queries search the window that this cursor contains. */
  readonly first: Cursor | undefined;
}

const START: State = { query: 0, at: undefined, first: undefined };

/**
 * The number of ids to remember if there is only one query, because a post may be repeated on the next page.
 * If there are several queries, all ids are remembered.
 */
const REPEATED_BY_PAGES = 100_000;

/**
 * Runs the queries one after the other over the same window, and delivers each post once. When an incremental
 * search resumes, it first completes the window of the previous run, if necessary, and then runs the next
 * window.
 */
export async function* runPacked(search: PackedSearch, run: Run): Batches<Activity> {
  const { queries } = search;
  const resume = run.resume ?? search.resume;
  const { state, ids } = resume === undefined ? { state: START, ids: [] } : stateOf(search, resume);
  const isDone = state.query === queries.length;
  const isIncremental = queries[0].runsEndAt !== undefined;
  if (isDone && !isIncremental) return;
  await tell(search, isDone ? queries.length : queries.length - state.query, run);
  const isBegun = !isIncremental || (resume !== undefined && !isDone);
  if (isIncremental && isBegun && queries[0].product === '30day') {
    const [query] = queries;
    await learnTime(query, query.account.clock.responses, run.signal);
  }
  const first = isBegun ? yield* runWindow(search, state, ids, run) : state.first;
  if (isIncremental) yield* runWindow(search, { ...START, at: first, first }, [], run);
}

/**
 * Runs the queries from `start` on over one window.
 *
 * @param before The stored ids of posts that were already delivered.
 * @returns The last cursor of the first query. The next window of an incremental search starts from this
 *   cursor.
 */
async function* runWindow(
  search: PackedSearch,
  start: State,
  before: readonly unknown[],
  run: Run,
): AsyncGenerator<Batch<Activity>, Cursor | undefined, undefined> {
  const { queries, makeResults } = search;
  const ids = new IdWindow(queries.length === 1 ? REPEATED_BY_PAGES : Number.POSITIVE_INFINITY);
  restore(ids, before);
  const parts = new ProgressParts(run.progress, queries.length);
  const note = run.progress?.note;
  for (let index = 0; index < start.query; index++) parts.done(index);
  let state = start;
  const onGap = reportOnce(queries[0]);
  while (state.query < queries.length) {
    const { query: index, at: resume, first } = state;
    const query = { ...inWindow(search, index, state), onGap };
    const progress = parts.of(index);
    try {
      for await (const batch of runQuery(query, makeResults, { ...run, resume, progress })) {
        state = stateAfter(search, index, batch.cursor as Cursor, first, start.first);
        const items = batch.items.filter(post => ids.add(post.id));
        progress?.drop('dedupe', batch.items.length - items.length);
        if (run.progress !== undefined && run.progress.note === note) run.progress.note = undefined;
        yield { ...batch, items, cursor: cursorOf(search, state, ids) };
      }
    } catch (error) {
      run.signal.throwIfAborted();
      throw stopped(search, index, start, state, ids, error);
    }
    parts.done(index);
    // The query delivered no batch, so `state.query` was not advanced. Either the query was already complete,
    // or its shard has no minutes.
    if (state.query === index) state = { query: index + 1, at: undefined, first: state.first };
  }
  return state.first;
}

/** Returns a function that reports to `onGap` only minutes that it has not reported before. */
function reportOnce({ onGap }: Query): Query['onGap'] {
  let reportedTo = '';
  return (
    onGap &&
    (({ fromDate, toDate, reason }) => {
      const from = fromDate < reportedTo ? reportedTo : fromDate;
      if (from >= toDate) return undefined;
      reportedTo = toDate;
      return onGap({ fromDate: from, toDate, reason });
    })
  );
}

function inWindow({ queries }: PackedSearch, index: number, { at, first }: State): Query {
  const [firstQuery] = queries;
  const query = queries[index] as Query;
  // In an incremental window, a query that has begun keeps its own dates. If `30day` no longer had the oldest
  // minutes, these dates differ from the dates of the first query.
  const own = index === 0 || query.runsEndAt !== undefined ? at : undefined;
  const fixing = own ?? (index === 0 ? undefined : first);
  if (fixing === undefined) return query;
  const { done, window } = positionOf(own === undefined ? firstQuery : query, fixing);
  // Keeps the window of the first query, unless an earlier incremental run has started this query and not
  // finished it.
  if (index === 0 && (done || query.runsEndAt === undefined)) return query;
  const isKnown = window.fromDate !== undefined && window.toDate !== undefined;
  if (!isKnown) return query;
  const mayHaveExpired = query.runsEndAt !== undefined;
  return { ...withDates(query, window), runsEndAt: undefined, mayHaveExpired };
}

/** @param before The last cursor of the first query in the previous run. */
function stateAfter(
  { queries }: PackedSearch,
  index: number,
  at: Cursor,
  first: Cursor | undefined,
  before: Cursor | undefined,
): State {
  const { done, window } = positionOf(queries[index] as Query, at);
  const state = { query: index, at, first: index === 0 ? at : first };
  if (!done) return state;
  const isIncremental = index === 0 && queries[0].runsEndAt !== undefined;
  const ended = before && positionOf(queries[0], before);
  const isNothing =
    window.fromDate === undefined ||
    (ended?.done === true && ended.window.toDate === window.toDate);
  const next = isIncremental && isNothing ? queries.length : index + 1;
  return { ...state, query: next, at: undefined };
}

function stopped(
  search: PackedSearch,
  index: number,
  start: State,
  state: State,
  ids: IdWindow,
  error: unknown,
): unknown {
  if (!(error instanceof MillraceError) || error instanceof OptionError) return error;
  const isIncomplete = error instanceof IncompleteError;
  // If the first page of the first query fails, its error is thrown unchanged, as in a search for one query.
  if (!isIncomplete && index === 0 && state === start) return error;
  const { queries } = search;
  const inner = isIncomplete ? (error.cursor as Cursor | undefined) : undefined;
  const reached =
    inner === undefined ? state : stateAfter(search, index, inner, state.first, start.first);
  const waiting = queries.length - index - 1;
  const missing = [
    ...(isIncomplete ? error.missing : [`posts of query ${index + 1}`]),
    ...(waiting === 0 ? [] : [`posts of ${waiting} more of the ${queries.length} queries`]),
  ];
  return new IncompleteError(
    `Query ${index + 1} of ${queries.length} did not end. ${error.message}${inner === undefined ? '. To continue, pass the cursor of this error as `resume`' : ''}`,
    {
      cause: isIncomplete ? (error.cause ?? error) : error,
      retryable: error.retryable,
      missing,
      cursor: reached === START ? undefined : cursorOf(search, reached, ids),
      reason: isIncomplete ? error.reason : undefined,
    },
  );
}

function cursorOf({ packing }: PackedSearch, { query, at, first }: State, ids: IdWindow): Cursor {
  return {
    source: 'search',
    rules: packing,
    query,
    ...(at !== undefined && { at }),
    ...(first !== undefined && { first }),
    ids: ids.state(),
  };
}

function stateOf(search: PackedSearch, cursor: Cursor) {
  const { source, rules, query, at, first, ids } = cursor as Readonly<Record<string, unknown>>;
  if (source !== 'search' || typeof rules !== 'string')
    throw cursorError('is not one of search() for rules');
  if (rules !== search.packing)
    throw new OptionError(
      'resume',
      `The cursor belongs to another request: its rules were ${rules}, and now they are ${search.packing}. Use the same rules and limits, or start afresh without the cursor`,
    );
  const texts = isRecord(ids) && typeof ids.toJSON === 'function' ? ids.toJSON() : ids;
  const isCursor = (value: unknown) => value === undefined || isRecord(value);
  if (!isCount(query) || query > search.queries.length || !isCursor(at) || !isCursor(first))
    throw cursorError('is damaged');
  if (!Array.isArray(texts) || (query > 0 && first === undefined)) throw cursorError('is damaged');
  return {
    state: { query, at: at as Cursor | undefined, first: first as Cursor | undefined },
    ids: texts as readonly unknown[],
  };
}

function restore(ids: IdWindow, texts: readonly unknown[]): void {
  try {
    ids.restore(texts);
  } catch (cause) {
    throw cursorError('is damaged: it does not have the ids of its posts', { cause });
  }
}

async function tell(search: PackedSearch, requests: number, run: Run): Promise<void> {
  const { packed, matcher, onQueries } = search;
  const { progress } = run;
  if (progress !== undefined)
    progress.note = `${sizes(matcher.size, packed.length)}, at least ${requests} ${requests === 1 ? 'request' : 'requests'}`;
  await answerOf(onQueries?.({ queries: packed, requests }), run.signal);
}
