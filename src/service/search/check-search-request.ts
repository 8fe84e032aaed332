import { createHash, createHmac } from 'node:crypto';
import { DAY, floorTo, formatTimestamp, MINUTE, type Window } from '../../base/time.js';
import { checkRule } from '../../rules/language/check-rule.js';
import type { RuleNode } from '../../rules/tree.js';
import type { SortKey } from '../archive/archive.js';
import { checkAccountAccess, isSameSecret } from '../http/check-access.js';
import { HttpProblem, unprocessable, withPrefix } from '../http/http-problem.js';
import { checkRate, rateExceeded } from '../http/quotas.js';
import { parseJsonObject, readBody, readDate } from '../http/read-request.js';
import type { Endpoint, RequestContext } from '../http/router.js';
import type { Limits } from '../http/service-limits.js';
import type { ServiceContext } from '../service-context.js';
import { type CountsEnd, PageEnds, type PostsEnd } from './page-ends.js';

export interface SearchParts {
  readonly context: ServiceContext;
  readonly product: SearchProduct;
  readonly given: GivenParameters;
  readonly postsEnds: PageEnds<PostsEnd>;
  readonly countsEnds: PageEnds<CountsEnd>;
}

/** The parameters that only search or only counts has. */
export interface EndpointParameters<Parameters> {
  readonly endpoint: Endpoint;
  readonly names: readonly string[];
  /**
   * Returns the values of the parameters in `names`, with defaults for absent ones. Adds any problems to
   * `problems`.
   */
  read(given: GivenParameters, problems: string[]): Parameters;
}

export interface SearchRequest<Parameters> {
  readonly query: string;
  readonly tree: RuleNode;
  readonly parameters: Parameters;
  /**
   * The time window to search, with a default for each absent date. `requestParameters` in the response shows
   * it in whole minutes.
   */
  readonly window: Window;
  /** When the first page was requested. Every page shows the posts that were visible at that time. */
  readonly asOf: number;
  /** The position in the results after which this page starts. Absent for the first page. */
  readonly after: SortKey | undefined;
  readonly next: string | undefined;
  nextAfter(last: SortKey): string;
}

export const SEARCH_PRODUCTS = ['30day', 'fullarchive'] as const;
export type SearchProduct = (typeof SEARCH_PRODUCTS)[number];

export type GivenParameters = Readonly<Record<string, unknown>>;

const SHARED_NAMES = ['query', 'fromDate', 'toDate', 'next'];

/** The maximum size of a body in bytes. The longest query, with every character escaped, needs 25 KB. */
const MAX_BODY_BYTES = 64 * 1024;

/**
 * Creates the function that makes the first checks of requests for posts and counts, which share their rates.
 * All checks are, in order:
 * 1. the credentials: 401;
 * 2. product, account and label: 404;
 * 3. the rates: 429;
 * 4. the body is a JSON object: 413, 415, 400;
 * 5. the parameters, all at once: 422;
 * 6. `next` belongs to this request: 422.
 *
 * `resolveRequest` makes the last two checks.
 */
export function searchChecks(
  context: ServiceContext,
): (incoming: RequestContext) => Promise<SearchParts> {
  const { settings, quotas } = context;
  const { account, label } = settings;
  const windows = [quotas.window('searchRate'), quotas.window('searchPerMinuteRate')];
  const ends = {
    postsEnds: new PageEnds<PostsEnd>(),
    countsEnds: new PageEnds<CountsEnd>(),
  };
  return async incoming => {
    checkAccountAccess(incoming, settings, { product: SEARCH_PRODUCTS, account, label });
    checkRate(windows, rateExceeded('over data and counts requests'));
    const given = await readParameters(incoming);
    return { context, product: incoming.path.product as SearchProduct, given, ...ends };
  };
}

/**
 * @throws HttpProblem 413, 415 or 400 for a body that is not a JSON object; 422 for a parameter in the wrong
 * place.
 */
function readParameters(incoming: RequestContext): GivenParameters | Promise<GivenParameters> {
  return incoming.method === 'GET' ? fromQuery(incoming.url) : fromBody(incoming);
}

/**
 * Checks the parameters of a request for posts or for counts, and resolves its dates.
 *
 * @throws HttpProblem 422 with all problems of the parameters, or for a `next` of another request.
 */
export function resolveRequest<Parameters>(
  product: SearchProduct,
  given: GivenParameters,
  { endpoint, names, read }: EndpointParameters<Parameters>,
  { settings, clock }: ServiceContext,
): SearchRequest<Parameters> {
  const { limits, account, label } = settings;
  const tokens = createNextTokens(settings.seed);
  const problems: string[] = [];
  for (const name of Object.keys(given))
    if (!SHARED_NAMES.includes(name) && !names.includes(name))
      problems.push(`Invalid parameter '${name}'. This endpoint has no parameter of this name.`);
  const query = stringParameter('query', given, problems);
  const next = stringParameter('next', given, problems);
  const fromDate = stringParameter('fromDate', given, problems);
  const toDate = stringParameter('toDate', given, problems);
  const parameters = read(given, problems);
  const token = next === undefined ? undefined : tokens.decode(next);
  if (next !== undefined && token === undefined)
    problems.push(
      "Invalid value for parameter 'next'. It must be copied unmodified from the previous response.",
    );
  const asOf = token?.asOf ?? clock.now();
  const window = searchWindow({ fromDate, toDate }, product, asOf, limits, problems);
  const tree = readQuery(query, limits, problems);
  if (problems.length > 0 || query === undefined || tree === undefined)
    throw unprocessable(problems);

  const request = requestDigest([endpoint, product, account, label, query, parameters]);
  if (token !== undefined) {
    if (token.window.from !== window.from || token.window.to !== window.to)
      throw unprocessable([`${NEXT_MISUSED} Here 'fromDate' or 'toDate' differs.`]);
    if (token.request !== request) throw unprocessable([NEXT_MISUSED]);
  }
  return {
    query,
    tree,
    parameters,
    window,
    asOf,
    after: token?.after,
    next,
    nextAfter: ({ at, id }) => tokens.encode({ asOf, window, after: { at, id }, request }),
  };
}

export function stringParameter(
  name: string,
  given: GivenParameters,
  problems: string[],
): string | undefined {
  const value = given[name];
  if (value === undefined || typeof value === 'string') return value;
  problems.push(`Invalid value for parameter '${name}'. It must be a string.`);
  return undefined;
}

const NEXT_MISUSED =
  "Invalid value for parameter 'next'. It belongs to another request: " +
  'repeat the identical request and add only the next.';

function readQuery(
  query: string | undefined,
  { queryCharacters, queryPhrases }: Limits,
  problems: string[],
): RuleNode | undefined {
  if (query === undefined || query.trim() === '') {
    problems.push("Invalid value for parameter 'query'. It must hold a rule.");
    return undefined;
  }
  const characters = [...query].length;
  if (characters > queryCharacters) {
    problems.push(
      `Invalid value for parameter 'query'. It has ${characters} characters; ` +
        `the most is ${queryCharacters}.`,
    );
    return undefined;
  }
  const checked = checkRule(query, { product: 'search' });
  for (const problem of checked.problems)
    if (problem.severity === 'error') problems.push(problem.message);
  const phrases = checked.tree === undefined ? 0 : phrasesIn(checked.tree);
  if (phrases > queryPhrases)
    problems.push(
      `The query is too complex to process. It has ${phrases} phrase operators; ` +
        `the most is ${queryPhrases}.`,
    );
  return checked.tree;
}

function phrasesIn(node: RuleNode): number {
  if (node.kind === 'not') return phrasesIn(node.node);
  if (node.kind === 'and' || node.kind === 'or')
    return node.nodes.reduce((sum, child) => sum + phrasesIn(child), 0);
  return node.kind === 'phrase' || node.kind === 'proximity' ? 1 : 0;
}

function fromQuery(url: URL): GivenParameters {
  const given: Record<string, unknown> = Object.create(null);
  for (const [name, value] of url.searchParams) {
    if (name in given)
      throw unprocessable([`Invalid parameter '${name}'. It is given more than once.`]);
    given[name] = value;
  }
  return given;
}

async function fromBody({ request, url }: RequestContext): Promise<GivenParameters> {
  const body = parseJsonObject(await readBody(request, MAX_BODY_BYTES));
  if (body === undefined) throw new HttpProblem(400, withPrefix('Invalid json, could not parse.'));
  const [stray] = url.searchParams.keys();
  if (stray !== undefined)
    throw unprocessable([
      `Invalid parameter '${stray}'. The parameters of a POST belong in its JSON body.`,
    ]);
  // Some clients send `null` for omitted parameters.
  return Object.assign(
    Object.create(null),
    Object.fromEntries(Object.entries(body).filter(entry => entry[1] !== null)),
  );
}

/**
 * Returns the window for the dates of a request. Without `toDate`, the window ends at `asOf`, the time of the
 * request. Without `fromDate`, it starts 30 days before its end, but not before the product begins.
 */
function searchWindow(
  dates: { readonly fromDate: string | undefined; readonly toDate: string | undefined },
  product: SearchProduct,
  asOf: number,
  limits: Limits,
  problems: string[],
): Window {
  const before = problems.length;
  const earliest =
    product === '30day' ? floorTo(MINUTE, asOf - limits.thirtyDaySpanMs) : limits.searchEarliest;
  const bounds = {
    earliest,
    tooEarly: `The product ${product} begins at ${formatTimestamp(earliest)}.`,
    latest: asOf,
    tooLate: "Can't ask for activities from the future.",
  };
  const given = (name: keyof typeof dates) => {
    const text = dates[name];
    const what = `query parameter '${name}'`;
    return text === undefined ? undefined : readDate(text, what, bounds, problems);
  };
  const from = given('fromDate');
  // Without `toDate`, the window ends at `asOf`, even within a minute. Only the dates that the response shows
  // are rounded down to the minute.
  const to = given('toDate') ?? asOf;
  // A `fromDate` of this very instant is valid: the window up to now is empty.
  const isEmpty = from === to && dates.toDate === undefined;
  if (problems.length === before && from !== undefined && from >= to && !isEmpty)
    problems.push("Invalid date for query parameter 'fromDate'. It must be before 'toDate'.");
  const thirtyDaysBefore = Math.max(floorTo(MINUTE, to - 30 * DAY), earliest);
  return { from: from ?? thirtyDaysBefore, to };
}

/**
 * The content of a `next` token. The service stores no tokens, so they never expire. A token that is used
 * again gives the same page, unless a time limit had cut the page short and `PageEnds` no longer knows where.
 * The page may then end elsewhere, and its `next` continues from there.
 */
interface NextToken {
  /** The time of the request for the first page, which determines the posts that are old enough to be found. */
  readonly asOf: number;
  readonly window: Window;
  /** The sort key of the last post of the previous page. The requested page starts after it. */
  readonly after: SortKey;
  /** A digest of endpoint, product, account, label, query and parameters. All pages have the same digest. */
  readonly request: string;
}

const SIGNATURE_BYTES = 16;
/**
 * The version of the token. It is a part of the key, so that tokens of an earlier version are refused.
 * Increment it with each change of `NextToken`.
 */
const TOKEN_VERSION = 2;

/**
 * Creates functions that encode and decode `next` tokens. The tokens are signed with a key that is derived
 * from the seed, so they stay valid after a restart with the same seed.
 */
export function createNextTokens(seed: string | number) {
  const key = createHash('sha256').update(`next-${TOKEN_VERSION} ${seed}`).digest();
  const sign = (payload: Uint8Array) =>
    createHmac('sha256', key).update(payload).digest().subarray(0, SIGNATURE_BYTES);
  return {
    encode(token: NextToken): string {
      const payload = Buffer.from(JSON.stringify(token));
      return Buffer.concat([sign(payload), payload]).toString('base64');
    },
    /** Decodes a token. Returns `undefined` for any text except a result of `encode` with the same seed. */
    decode(text: string): NextToken | undefined {
      const bytes = Buffer.from(text, 'base64');
      const payload = bytes.subarray(SIGNATURE_BYTES);
      const signature = bytes.subarray(0, SIGNATURE_BYTES);
      // Base64 decoding ignores invalid characters, but only the exact text is accepted.
      if (bytes.toString('base64') !== text || !isSameSecret(signature, sign(payload)))
        return undefined;
      return JSON.parse(payload.toString());
    },
  };
}

function requestDigest(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 16);
}
