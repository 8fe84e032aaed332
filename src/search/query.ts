import { OptionError } from '../errors.js';
import type { Cursor } from '../flow/flow.js';
import { Account } from '../http/account.js';
import { checkNames } from '../http/check-names.js';
import { ruleErrors } from '../rules/language/rule-errors.js';
import { DAY, FIRST_POST, parseTimestamp, type Timestamp, timestampOption } from '../time.js';

export type Product = '30day' | 'fullarchive';

/** What searches and counts have in common (service.md 4.1, 4.2). */
export interface QueryOptions {
  /**
   * The whole rule, with all operators: 1 to 2048 characters. It is checked as `rules.check` does for
   * product `search`, before anything is sent.
   */
  readonly query: string;
  /** `30day`, or `fullarchive`: everything since 21 March 2006. */
  readonly product: Product;
  /**
   * Oldest minute, inclusive: `YYYYMMDDHHMM` (UTC) or a `Date`, floored to its minute. Left out, the
   * service goes back 30 days, from `toDate` or from now (4.1 rule 1).
   */
  readonly fromDate?: Timestamp | undefined;
  /** Newest minute, exclusive. Left out, it is now. */
  readonly toDate?: Timestamp | undefined;
  /** @default the account's label */
  readonly label?: string | undefined;
  /** How the request is sent. @default 'POST' */
  readonly method?: 'POST' | 'GET' | undefined;
  /** The `next` of an earlier answer to the same request: begins with the page after it. */
  readonly next?: string | undefined;
  /**
   * Where to go on: the cursor of a batch, or of an `IncompleteError`. A sink with a checkpoint does
   * this by itself. The other options must be those of the first run.
   */
  readonly resume?: Cursor | undefined;
}

/** Parameters of a request as they are sent. */
export type Params = Readonly<Record<string, string | number>>;

/** A request that has passed every check. */
export interface Query {
  readonly source: 'search' | 'counts';
  readonly account: Account;
  readonly product: Product;
  readonly url: URL;
  readonly method: 'POST' | 'GET';
  readonly params: Params;
  /** What a cursor of this request belongs to. */
  readonly identity: Params;
  readonly next: string | undefined;
  readonly resume: Cursor | undefined;
}

const PRODUCTS: readonly string[] = ['30day', 'fullarchive'] satisfies Product[];
const METHODS: readonly string[] = ['POST', 'GET'];
const MOST_CHARACTERS = 2048;
/** Posts of one answer (4.1). */
export const MIN_RESULTS = 10;
/** What 30day spans (4.1 rule 6). */
export const SPAN_30DAY = 31 * DAY;

/** Options of both. */
const OPTIONS: readonly string[] = [
  ...['query', 'product', 'fromDate', 'toDate', 'label', 'method', 'next', 'resume'],
];

/** Catches what the compiler does not see: a misspelt date would search another window. */
export function checkCall(account: unknown, options: unknown, own: readonly string[]): void {
  if (!(account instanceof Account))
    throw new OptionError('account', 'Expected the first argument to be made by `account()`');
  checkNames('options', options, [...OPTIONS, ...own]);
}

/**
 * Checks the options of a search or count, and what it needs of the account.
 *
 * @throws OptionError
 */
export function checkQuery(
  source: Query['source'],
  account: Account,
  options: QueryOptions,
  own: Readonly<Record<string, string | number | undefined>>,
): Query {
  const { query, product, method = 'POST', next } = options;
  const purpose = source === 'search' ? 'searches' : 'counts';
  oneOf('product', product, PRODUCTS);
  oneOf('method', method, METHODS);
  checkText('query', query);
  // The service does not say what a character is. By code points an emoji is one, as people count;
  // what it counts otherwise, it will refuse itself.
  const characters = [...query].length;
  if (characters > MOST_CHARACTERS)
    throw new OptionError(
      'query',
      `\`query\` has ${characters} characters, and the service takes at most ${MOST_CHARACTERS}`,
    );
  const errors = ruleErrors(query, { product: 'search' });
  if (errors.length > 0)
    throw new OptionError('query', `The query was not sent.\n${errors.join('\n')}`);
  if (next !== undefined) checkText('next', next);
  if (next !== undefined && options.resume !== undefined)
    throw new OptionError('next', 'Pass `next` or `resume`, not both: each says where to begin');
  const params = defined({ query, ...own, ...checkWindow(options) });

  const labelled = options.label === undefined ? (['label'] as const) : [];
  account.needAll(['baseUrl', 'account', ...labelled, 'email', 'password'], purpose);
  const name = account.need('account', purpose);
  if (options.label !== undefined) checkText('label', options.label);
  const label = options.label ?? account.need('label', purpose);
  const file = source === 'search' ? `${segment(label)}.json` : `${segment(label)}/counts.json`;
  const url = new URL(account.need('baseUrl', purpose));
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/search/${product}/accounts/${segment(name)}/${file}`;
  const identity = { account: name, label, product, ...params, ...defined({ next }) };
  return {
    source,
    account,
    product,
    url,
    method: method as Query['method'],
    params,
    identity,
    next,
    resume: options.resume,
  };
}

/** Throws unless the value is a whole number within these bounds. */
export function checkWhole(option: string, value: unknown, least: number, most: number): void {
  if (!Number.isSafeInteger(value) || (value as number) < least || (value as number) > most)
    throw new OptionError(
      option,
      `Expected \`${option}\` to be a whole number from ${least}${most === Number.MAX_SAFE_INTEGER ? ' up' : ` to ${most}`}, got ${String(value)}`,
    );
}

export function oneOf(option: string, value: unknown, allowed: readonly string[]): void {
  if (!allowed.includes(value as string))
    throw new OptionError(
      option,
      `Expected \`${option}\` to be ${allowed.map(name => `'${name}'`).join(' or ')}, got ${typeof value === 'string' ? `'${value}'` : String(value)}`,
    );
}

/** Text that every encoding of a request can carry. */
export function checkText(option: string, value: unknown): void {
  if (typeof value !== 'string' || value.trim() === '')
    throw new OptionError(option, `Expected \`${option}\` to be a string that is not empty`);
  if (/\p{Surrogate}/u.test(value))
    throw new OptionError(option, `\`${option}\` has half a character in it (a lone surrogate)`);
}

function defined(
  values: Readonly<Record<string, string | number | undefined>>,
): Record<string, string | number> {
  return Object.fromEntries(
    Object.entries(values).filter(
      (entry): entry is [string, string | number] => entry[1] !== undefined,
    ),
  );
}

function checkWindow({ fromDate, toDate }: QueryOptions) {
  const from = fromDate === undefined ? undefined : timestampOption('fromDate', fromDate);
  const to = toDate === undefined ? undefined : timestampOption('toDate', toDate);
  const oldest = from === undefined ? undefined : parseTimestamp(from);
  const newest = to === undefined ? undefined : parseTimestamp(to);
  if (oldest !== undefined && oldest < FIRST_POST)
    throw new OptionError(
      'fromDate',
      `\`fromDate\` ${from} is before the first posts, of 21 March 2006`,
    );
  if (newest !== undefined && newest <= FIRST_POST)
    throw new OptionError('toDate', `\`toDate\` ${to} is before the first posts, of 21 March 2006`);
  if (oldest !== undefined && newest !== undefined && oldest >= newest)
    throw new OptionError('toDate', `\`toDate\` ${to} must be after \`fromDate\` ${from}`);
  // What 30day still has is for the service to say, by its own clock.
  return { fromDate: from, toDate: to };
}

function segment(name: string): string {
  if (/^\.\.?$/.test(name)) throw new OptionError('label', `Expected a name, got '${name}'`);
  return encodeURIComponent(name);
}
