import {
  cursor,
  date,
  flag,
  func,
  lines,
  type Option,
  type OptionTable,
  oneOf,
  optionError,
  required,
} from '../base/check.js';
import type { FlagDetails } from '../base/flags.js';
import { isShard, shardName } from '../base/shard.js';
import {
  DAY,
  type Dates,
  FIRST_POST,
  formatTimestamp,
  MINUTE,
  parseDate,
  type Timestamp,
} from '../base/time.js';
import type { Cursor } from '../flow/flow.js';
import type { Account } from '../http/account.js';
import { serviceUrl } from '../http/service-url.js';
import { ruleErrors } from '../rules/language/render-problem.js';
import type { Spending } from './budget.js';

/** The search products: the last 30 days, or everything since 2006. */
export type Product = '30day' | 'fullarchive';

/** Options that searches and counts share. */
export interface QueryOptions {
  /**
   * The rule that posts must match, 1 to 2048 characters. The rule is checked before anything is sent, as by
   * `rules.check` for the product `search`.
   */
  readonly query: string;
  /** `30day`, or `fullarchive`: everything since 21 March 2006. */
  readonly product: Product;
  /**
   * The oldest minute, inclusive: `YYYYMMDDHHMM` (UTC), an ISO 8601 date or time, or a `Date`, floored to its
   * minute.
   * @default 30 days before `toDate`
   */
  readonly fromDate?: Timestamp | undefined;
  /** The newest minute, exclusive. @default now */
  readonly toDate?: Timestamp | undefined;
  /**
   * For scheduled runs, for example by cron. Each run continues where the last complete run ended. It ends at
   * the last whole minute, or for counts at the last start of a bucket, that is at least one minute ago.
   * Newer posts may not be searchable yet. No post is repeated or missed between two runs. Only the first run
   * uses `fromDate`. Requires a sink with a checkpoint; the sink appends to its output. Cannot be combined
   * with `toDate`, `next`, `limit`, `pages` or a `shard`.
   * @default false
   */
  readonly incremental?: boolean | undefined;
  /**
   * Only for `incremental` with `30day`. Called with minutes that no run has fetched and that are now older
   * than 31 days. The run then fetches the remaining minutes. Without this option, minutes that are too old
   * end the flow with an `IncompleteError`. If the callback returns a promise, the run waits for it.
   */
  readonly onGap?: ((gap: QueryGap) => unknown) | undefined;
  /** The label of the search endpoint. The service assigns it. @default the account's `label` */
  readonly label?: string | undefined;
  /** The HTTP method of the requests. @default 'POST' */
  readonly method?: 'POST' | 'GET' | undefined;
  /**
   * The token `next` from an earlier response to the same request. The search starts with the page after that
   * response.
   */
  readonly next?: string | undefined;
  /**
   * The cursor of a batch or of an error. The run resumes from this cursor. A cursor in the checkpoint of
   * the sink takes precedence. All other options must be the same as in the first run.
   */
  readonly resume?: Cursor | undefined;
}

/**
 * A range of minutes that became too old for `30day` before an incremental search or count fetched them.
 * `fullarchive` still has them.
 */
export interface QueryGap extends Dates {
  readonly reason: 'expired';
}

export type Params = Readonly<Record<string, string | number>>;

export interface Bounds {
  readonly limit: number;
  readonly pages: number;
  readonly slices: number;
}

const UNBOUNDED: Bounds = {
  limit: Number.POSITIVE_INFINITY,
  pages: Number.POSITIVE_INFINITY,
  slices: 1,
};

/** The roles of an option of a query. Each row of a table of options declares them. */
export interface OptionRole {
  /**
   * Whether the option selects the endpoint. `preview` also uses such options for its requests for counts, so
   * that they go to the same endpoint.
   */
  readonly isEndpoint?: boolean;
  /** Whether the option is sent with each request, under the option's name. */
  readonly isParameter?: boolean;
  /**
   * Which saved positions are refused if this option has changed since they were saved. `cursor` means every
   * saved position, and `checkpoint` means only the checkpoints of sinks.
   */
  readonly identifies?: 'cursor' | 'checkpoint';
  /** If absent, the command has no flag for the option. */
  readonly flag?: FlagDetails;
}

export type OptionRows = Readonly<Record<string, Option<unknown> & OptionRole>>;

export function row<const Role extends OptionRole, Checked extends Option<unknown>>(
  role: Role,
  option: Checked,
): Checked & Role {
  return { ...option, ...role };
}

type Identity = Readonly<Record<string, string | number | boolean>>;

/** A query that has passed all checks. */
export interface Query extends Bounds {
  readonly source: 'search' | 'counts';
  readonly account: Account;
  readonly product: Product;
  readonly url: URL;
  readonly method: 'POST' | 'GET';
  readonly params: Params;
  /**
   * The options and settings that are stored in a cursor. A query can resume from the cursor only if its own
   * values are the same.
   */
  readonly identity: Identity;
  /**
   * The options and settings that are stored in a checkpoint. A query with other values cannot resume from
   * that checkpoint.
   */
  readonly checkpointIdentity: Identity;
  readonly next: string | undefined;
  readonly resume: Cursor | undefined;
  /**
   * Only for an incremental query: whether the window was determined some time ago. If `30day` no longer has the
   * oldest minutes of the window, these minutes are skipped and reported as a gap.
   */
  readonly mayHaveExpired?: boolean | undefined;
  /**
   * Only for an incremental query: the unit, in milliseconds, to which the end of each run is rounded down.
   * Absent for a query with a fixed window.
   */
  readonly runsEndAt: number | undefined;
  readonly onGap: ((gap: QueryGap) => unknown) | undefined;
  readonly spending?: Spending | undefined;
}

const MAX_CHARACTERS = 2048;
/** The service accepts no smaller `maxResults`. */
export const MIN_RESULTS = 10;
/** How far back `30day` goes, in milliseconds. */
export const SPAN_30DAY = 31 * DAY;

export const QUERY_OPTIONS = {
  query: row(
    { isParameter: true, identifies: 'cursor' },
    required(lines('the rule that posts match')),
  ),
  product: row(
    { isEndpoint: true, identifies: 'cursor', flag: { fallback: '30day' } },
    required(oneOf('how far back posts go', ['30day', 'fullarchive'])),
  ),
  fromDate: row(
    { isParameter: true, identifies: 'cursor', flag: { shownDefault: '30 days ago' } },
    date('the oldest minute, inclusive'),
  ),
  toDate: row(
    { isParameter: true, identifies: 'cursor', flag: { shownDefault: 'now' } },
    date('the newest minute, exclusive'),
  ),
  label: row({ isEndpoint: true, identifies: 'cursor' }, lines('label of the search endpoint')),
  incremental: row(
    { identifies: 'cursor', flag: {} },
    flag('whether each run continues where the last one ended'),
  ),
  onGap: func<(gap: QueryGap) => unknown>('called with minutes that are too old'),
  method: row({ isEndpoint: true }, oneOf('how requests are sent', ['POST', 'GET'], 'POST')),
  next: row({ identifies: 'cursor' }, lines('the `next` of an earlier response')),
  resume: cursor<Cursor & object>(),
} satisfies OptionTable<QueryOptions>;

/**
 * Creates a query from options. Checks the rule, the window and the account's settings, which the tables of
 * options cannot check.
 *
 * @param rows The table that the options were checked with.
 * @param options The options, with defaults for those that were not given.
 * @param bounds Limits for the results; none by default. An incremental run ends at a multiple of
 *   `runsEndAt`, in milliseconds; by default, at a whole minute.
 * @throws OptionError
 */
export function checkQuery(
  source: 'search' | 'counts',
  account: Account,
  rows: OptionRows,
  options: QueryOptions,
  bounds: Partial<Bounds> & { readonly runsEndAt?: number },
): Query {
  const { slices = 1, runsEndAt = MINUTE } = bounds;
  const { query, product, method = 'POST', next, resume, label, incremental, onGap } = options;
  checkRule(source, query);
  if (next !== undefined && resume !== undefined)
    throw optionError(source, 'next', 'and `resume` both say where to begin: pass one of them');
  for (const name of ['toDate', 'next'] as const)
    if (incremental === true && options[name] !== undefined)
      throw optionError(
        source,
        name,
        'must not be given with `incremental`: each run ends at what is searchable then, and begins where the last one ended',
      );
  const given = { ...options, ...checkWindow(source, options) };
  const params: Params = valuesOf(rows, given, ({ isParameter }) => isParameter === true);
  const file = source === 'search' ? '{label}.json' : '{label}/counts.json';
  const url = serviceUrl(account, 'baseUrl', `search/${product}/accounts/{account}/${file}`, {
    purpose: source === 'search' ? 'searches' : 'counts',
    given: { label },
  });
  const compared = {
    ...given,
    label: label ?? account.settings.label,
    // The identity does not include `fromDate`, because each incremental run has a different one.
    ...(incremental === true && { fromDate: undefined }),
    slices: slices === 1 ? undefined : slices,
  };
  const identityOf = (kinds: readonly OptionRole['identifies'][]) => ({
    account: account.settings.account ?? '',
    ...valuesOf(
      rows,
      compared,
      ({ identifies }) => identifies !== undefined && kinds.includes(identifies),
    ),
    ...(incremental === true && { incremental }),
    ...account.serviceAt(url),
  });
  return {
    ...UNBOUNDED,
    ...bounds,
    source,
    account,
    product,
    url,
    method,
    params,
    identity: identityOf(['cursor']),
    checkpointIdentity: identityOf(['cursor', 'checkpoint']),
    next,
    resume,
    runsEndAt: incremental === true ? runsEndAt : undefined,
    onGap,
  };
}

/**
 * Returns the values of the options whose roles pass `isMeant`, in the form used in requests and checkpoints.
 */
function valuesOf(
  rows: OptionRows,
  values: Readonly<Record<string, unknown>>,
  isMeant: (role: OptionRole) => boolean,
): Readonly<Record<string, string | number>> {
  return Object.fromEntries(
    Object.entries(rows).flatMap(([name, role]) => {
      const value = isShard(values[name]) ? shardName(values[name]) : values[name];
      const isValue = typeof value === 'string' || typeof value === 'number';
      return isMeant(role) && isValue ? [[name, value]] : [];
    }),
  );
}

type EndpointOption = {
  [Name in keyof typeof QUERY_OPTIONS]: (typeof QUERY_OPTIONS)[Name] extends {
    readonly isEndpoint: true;
  }
    ? Name
    : never;
}[keyof typeof QUERY_OPTIONS];

export function endpointOptions(
  options: Pick<QueryOptions, EndpointOption>,
): Pick<QueryOptions, EndpointOption> {
  const rows: OptionRows = QUERY_OPTIONS;
  const given = Object.entries(options).filter(([name]) => rows[name]?.isEndpoint);
  return Object.fromEntries(given) as Pick<QueryOptions, EndpointOption>;
}

function checkRule(source: string, query: string): void {
  // The service does not define what a character is. Code points are counted here, so a surrogate pair counts
  // as one character. If the service counts differently, it refuses the rule.
  const characters = [...query].length;
  if (characters > MAX_CHARACTERS)
    throw optionError(
      source,
      'query',
      `has ${characters} characters, and the service takes at most ${MAX_CHARACTERS}`,
    );
  const errors = ruleErrors(query, { product: 'search' });
  if (errors.length > 0)
    throw optionError(
      source,
      'query',
      `is not a valid rule and was not sent.\n${errors.join('\n')}`,
    );
}

function checkWindow(source: string, { fromDate, toDate }: QueryOptions) {
  const [oldest, newest] = [parseDate(fromDate), parseDate(toDate)];
  const from = oldest === undefined ? undefined : formatTimestamp(oldest);
  const to = newest === undefined ? undefined : formatTimestamp(newest);
  if (oldest !== undefined && oldest < FIRST_POST)
    throw optionError(source, 'fromDate', `${from} is before the first posts, of 21 March 2006`);
  if (newest !== undefined && newest <= FIRST_POST)
    throw optionError(source, 'toDate', `${to} is before the first posts, of 21 March 2006`);
  if (oldest !== undefined && newest !== undefined && oldest >= newest)
    throw optionError(source, 'toDate', `${to} must be after \`fromDate\` ${from}`);
  // The service checks the range of the product `30day` by its own clock, so this function does not check it.
  return { fromDate: from, toDate: to };
}
