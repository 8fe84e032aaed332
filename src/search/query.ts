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

/** The options that searches and counts share. */
export interface QueryOptions {
  /**
   * The whole rule, with all operators: 1 to 2048 characters. It is checked as `rules.check` does for
   * product `search`, before anything is sent.
   */
  readonly query: string;
  /** `30day`, or `fullarchive`: everything since 21 March 2006. */
  readonly product: Product;
  /**
   * Oldest minute, inclusive: `YYYYMMDDHHMM` (UTC), an ISO 8601 date or time, or a `Date`,
   * floored to its minute.
   * @default 30 days before `toDate`
   */
  readonly fromDate?: Timestamp | undefined;
  /** Newest minute, exclusive. @default now */
  readonly toDate?: Timestamp | undefined;
  /**
   * For scheduled runs, such as by cron: each run continues where the last complete run ended, and ends at the newest
   * minute (for counts, the newest whole bucket) that is certainly searchable, so that no post is repeated or missed
   * between two runs. Only the first run uses `fromDate`. Needs a sink with a checkpoint, which appends to its output.
   * Cannot be combined with `toDate`, `next`, `limit`, `pages` or a `shard`.
   * @default false
   */
  readonly incremental?: boolean | undefined;
  /**
   * With `incremental` and `30day`: called with minutes that no run has fetched and that are now older than 31 days;
   * the run covers the rest. Without it, such minutes end the flow with an `IncompleteError`. It may return a promise.
   */
  readonly onGap?: ((gap: QueryGap) => unknown) | undefined;
  /** The label of the search endpoint, which the service assigns. @default the account's `label` */
  readonly label?: string | undefined;
  /** How the request is sent. @default 'POST' */
  readonly method?: 'POST' | 'GET' | undefined;
  /** The `next` of an earlier response to the same request: starts with the page after it. */
  readonly next?: string | undefined;
  /**
   * Where to resume: the cursor of a batch or an error. A sink with a checkpoint passes it. All other options must be
   * the same as in the first run.
   */
  readonly resume?: Cursor | undefined;
}

/** Minutes that became too old for `30day` before an incremental search or count fetched them. `fullarchive` has them. */
export interface QueryGap extends Dates {
  readonly reason: 'expired';
}

/** Parameters of a request as they are sent. */
export type Params = Readonly<Record<string, string | number>>;

/** How much of the results is fetched, and in how many parts of the window at a time. */
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

/** What an option of searches or counts is for, besides how a run goes. A new option says it in its row. */
export interface OptionRole {
  /** It says which endpoint answers. The counts of a `preview` come from the same. */
  readonly isEndpoint?: boolean;
  /** It is sent with each request, under the name of the option. */
  readonly isParameter?: boolean;
  /** What a run with another value refuses: each `cursor` and checkpoint, or only the `checkpoint`. */
  readonly identifies?: 'cursor' | 'checkpoint';
  /** The flag of the command. Without it, the command has none. */
  readonly flag?: FlagDetails;
}

/** The options of searches, or of counts. */
export type OptionRows = Readonly<Record<string, Option<unknown> & OptionRole>>;

/** A row of a table of options. */
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
  /** What a cursor must have in common with this query. */
  readonly identity: Identity;
  /** What a checkpoint must have in common with it. */
  readonly checkpointIdentity: Identity;
  readonly next: string | undefined;
  readonly resume: Cursor | undefined;
  /** What the end of each incremental run is a multiple of, in milliseconds; absent for a query with a fixed window. */
  readonly runsEndAt: number | undefined;
  readonly onGap: ((gap: QueryGap) => unknown) | undefined;
  /** What this run may still spend. */
  readonly spending?: Spending | undefined;
}

const MAX_CHARACTERS = 2048;
/** The minimum number of posts in a page. */
export const MIN_RESULTS = 10;
/** How far back `30day` reaches. */
export const SPAN_30DAY = 31 * DAY;

/** The options that searches and counts share. */
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
 * Makes a query of options, and checks what the tables of options cannot: the rule, the window and the settings of the
 * account.
 *
 * @param rows The table that has checked the options.
 * @param options With the defaults of the call.
 * @param bounds By default none. `runsEndAt` applies to an incremental query and is a minute by default.
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
    // Each incremental run has other dates.
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

/** The values of some rows, as requests and checkpoints have them. */
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

/** The options that say which endpoint answers. */
export function endpointOptions(
  options: Pick<QueryOptions, EndpointOption>,
): Pick<QueryOptions, EndpointOption> {
  const rows: OptionRows = QUERY_OPTIONS;
  const given = Object.entries(options).filter(([name]) => rows[name]?.isEndpoint);
  return Object.fromEntries(given) as Pick<QueryOptions, EndpointOption>;
}

function checkRule(source: string, query: string): void {
  // The service does not define a character. By code points an emoji is one, as people count; if the
  // service counts differently, it refuses the rule itself.
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
  // The service decides by its clock how far back 30day reaches.
  return { fromDate: from, toDate: to };
}
