import { onceAborted } from '../../base/abortable.js';
import { checkOptions, milliseconds, oneOf, text, whole } from '../../base/check.js';
import { IncompleteError } from '../../base/errors.js';
import { floorTo, HOUR, MINUTE } from '../../base/time.js';
import { WakeUp } from '../../base/wait.js';
import { getOrMake } from '../cache.js';
import type { Quota } from './quotas.js';
import { ENDPOINT_NAMES, type Endpoint } from './router.js';

/**
 * A request that the service has received, and its response. Members are absent if they are not known yet or
 * do not apply.
 */
export interface RequestEntry {
  /** The number of the request, in order of arrival. */
  readonly number: number;
  /** The time of arrival by the service's clock. */
  readonly at: Date;
  /** The family of endpoints that the address belongs to; absent for an unknown address. */
  readonly endpoint?: Endpoint | undefined;
  readonly method: string;
  readonly path: string;
  /** The decoded parameters. Signatures and tokens are shown as `…`. */
  readonly query: Readonly<Record<string, string>>;
  /** The body as text, if it is JSON. Not parsed, because ids may not fit in numbers. */
  readonly body?: string | undefined;
  /** The number of the connection. Requests with the same number came over the same connection. */
  readonly connection: number;
  /** The status of the response; absent until there is one. */
  readonly status?: number | undefined;
  /** The number of posts in the response. Set only for endpoints that send posts. */
  readonly posts?: number | undefined;
  /** The number of bytes that were sent, including headers. */
  readonly bytes?: number | undefined;
  /** The time until the response was sent, in milliseconds of real time; absent until then. */
  readonly durationMs?: number | undefined;
  /** The kinds of planted faults that hit the request. */
  readonly fault?: string | undefined;
  /** Whether the connection ended before the response was complete. */
  readonly cut?: boolean | undefined;
}

/** Selects requests of the log. By default, all requests except requests to the control path. */
export interface RequestFilter {
  /** Selects requests of this family, such as `search`, `counts` or `jobs`. */
  readonly endpoint?: Endpoint | undefined;
  /** Selects requests whose path and query contain this string. */
  readonly path?: string | undefined;
  readonly method?: string | undefined;
  /** Selects requests whose response has this status. */
  readonly status?: number | undefined;
  /** Selects requests with a greater `number` than this. */
  readonly after?: number | undefined;
}

/** Options of `waitForRequests`: the number of requests to wait for, and the maximum time. */
export interface RequestWait extends RequestFilter {
  /** The number of requests to wait for. @default 1 */
  readonly count?: number | undefined;
  /** The maximum time to wait, in milliseconds of real time. @default 10,000 */
  readonly timeoutMs?: number | undefined;
}

export interface RequestOutcome
  extends Pick<
    RequestEntry,
    'fault' | 'status' | 'durationMs' | 'cut' | 'body' | 'bytes' | 'posts'
  > {
  /** The remaining quotas of the rates that count the request. */
  readonly quotas?: readonly Quota[] | undefined;
  /** The first 4 KB of the body of an error. */
  readonly error?: string | undefined;
}

/** A request and its response, for the console and for tests. Contains no credentials. */
export interface LoggedRequest
  extends RequestOutcome,
    Pick<RequestEntry, 'number' | 'endpoint' | 'method' | 'connection'> {
  /** The time of arrival by the service's clock, in epoch milliseconds. */
  readonly at: number;
  /** The path and query, without secrets. */
  readonly address: string;
}

const MAX_REQUESTS = 500;
const MAX_ADDRESS_LENGTH = 300;

/**
 * The last 500 requests. Requests for pages of the console are not included, except sign-ins and sign-outs.
 */
export class RequestLog {
  /**
   * The numbers of requests, posts, jobs and stream connections. Requests for pages of the console and for
   * URLs that control the service are not counted.
   */
  readonly totals: MinuteTotals;
  #requests: LoggedRequest[] = [];
  #lastNumber = 0;
  readonly #waiting = new Set<WakeUp>();

  constructor(now: () => number) {
    this.totals = new MinuteTotals(now);
  }

  /** The requests, newest first. */
  get requests(): readonly LoggedRequest[] {
    return this.#requests.toReversed();
  }

  /** Adds a request. Returns a function that adds its outcome. */
  begin(request: Omit<LoggedRequest, 'number'>): (outcome: RequestOutcome) => void {
    const address = withoutSecrets(request.address);
    const logged: LoggedRequest = { ...request, number: ++this.#lastNumber, address };
    this.#requests.push(logged);
    if (this.#requests.length > MAX_REQUESTS) this.#requests.shift();
    if (isCounted(logged)) this.totals.add('requests');
    return outcome => {
      if (isCounted(logged)) this.#count(logged, outcome);
      Object.assign(logged, outcome);
      for (const wakeUp of this.#waiting) wakeUp.wake();
    };
  }

  clear(): void {
    this.#requests = [];
    this.totals.clear();
  }

  /**
   * Calls `isDone` after each change of the log. Resolves to true once `isDone` returns true, and to false if
   * the signal fires first.
   */
  async until(isDone: () => boolean, signal: AbortSignal): Promise<boolean> {
    const wakeUp = new WakeUp();
    const stopListening = onceAborted(signal, () => wakeUp.wake());
    this.#waiting.add(wakeUp);
    try {
      while (!isDone()) {
        if (signal.aborted) return false;
        await wakeUp.next();
      }
      return true;
    } finally {
      stopListening();
      this.#waiting.delete(wakeUp);
    }
  }

  #count({ endpoint, method, posts = 0 }: LoggedRequest, outcome: RequestOutcome): void {
    if (outcome.posts !== undefined) this.totals.add('posts', outcome.posts - posts);
    if (endpoint === 'jobs' && method === 'POST' && outcome.status === 201) this.totals.add('jobs');
    if (isStream(endpoint) && outcome.status === 200) this.totals.add('connections');
  }
}

export function isStream(endpoint: Endpoint | undefined): boolean {
  return endpoint === 'replay' || endpoint === 'compliance';
}

function isCounted({ endpoint }: LoggedRequest): boolean {
  return endpoint !== 'pages' && endpoint !== 'control';
}

/** Returns an address as the console shows it: without secrets, and truncated if it is long. */
export function shownAddress(url: string): string {
  const text = withoutSecrets(url);
  return text.length > MAX_ADDRESS_LENGTH ? `${text.slice(0, MAX_ADDRESS_LENGTH)}…` : text;
}

/** Hides signatures and OAuth tokens in a query, because they give access like passwords. */
function withoutSecrets(url: string): string {
  return url.replace(
    /([?&])([^=&]*(?:token|signature|verifier|secret|password)[^=&]*)=[^&]+/gi,
    '$1$2=…',
  );
}

export interface OverviewTotals {
  requests: number;
  posts: number;
  /** The number of created jobs. */
  jobs: number;
  /** The number of connections to streams. */
  connections: number;
}

/** Totals for each minute of the last hour by the service's clock. */
export class MinuteTotals {
  readonly #now: () => number;
  readonly #minutes = new Map<number, OverviewTotals>();

  constructor(now: () => number) {
    this.#now = now;
  }

  add(what: keyof OverviewTotals, count = 1): void {
    const minute = floorTo(MINUTE, this.#now());
    const none = (): OverviewTotals => ({ requests: 0, posts: 0, jobs: 0, connections: 0 });
    // Removes minutes that are not in the last hour. If the clock was moved, they may also be in the future.
    if (!this.#minutes.has(minute))
      for (const other of this.#minutes.keys())
        if (other > minute || other <= minute - HOUR) this.#minutes.delete(other);
    getOrMake(this.#minutes, minute, none)[what] += count;
  }

  /**
   * Splits the last hour into equal parts, and returns the sum of `what` in each part, oldest first. The hour
   * ends with the current minute.
   */
  lastHour(what: keyof OverviewTotals, parts: number): readonly number[] {
    const end = floorTo(MINUTE, this.#now()) + MINUTE;
    const sums = new Array<number>(parts).fill(0);
    for (const [minute, totals] of this.#minutes) {
      const part = Math.floor(((minute - (end - HOUR)) / HOUR) * parts);
      if (part >= 0 && part < parts) sums[part] = (sums[part] as number) + totals[what];
    }
    return sums;
  }

  clear(): void {
    this.#minutes.clear();
  }
}

const FILTER = {
  endpoint: oneOf('the family of the requests', ENDPOINT_NAMES),
  path: text('text that path and query contain'),
  method: text('the method'),
  status: whole('the status of the response', { min: 100, max: 599 }),
  after: whole('the number after which requests begin'),
};

const WAIT = {
  ...FILTER,
  count: whole('how many requests to wait for', { min: 1, default: 1 }),
  timeoutMs: milliseconds('the longest wait', { default: 10_000 }),
};

/** Returns the logged requests that match a filter, in order of arrival. @throws OptionError */
export function requestEntries(log: RequestLog, filter: RequestFilter): readonly RequestEntry[] {
  const checked = checkOptions<RequestFilter, typeof FILTER>('service.requests', FILTER, filter);
  return matching(log, checked).map(entryOf);
}

/**
 * Waits until `count` matching requests were answered completely, and resolves to all of these requests. A
 * compliance stream counts once it is accepted.
 *
 * @throws OptionError for an invalid filter.
 * @throws IncompleteError if fewer requests were answered after `timeoutMs`.
 */
export async function waitForRequests(
  log: RequestLog,
  wait: RequestWait,
  signal?: AbortSignal,
): Promise<readonly RequestEntry[]> {
  const call = 'service.waitForRequests';
  const checked = checkOptions<RequestWait, typeof WAIT>(call, WAIT, wait);
  const { count, timeoutMs, ...filter } = checked;
  // A compliance stream does not end until its client ends it, so it counts once it is accepted.
  const isAnswered = ({ endpoint, status, durationMs }: LoggedRequest) =>
    (endpoint === 'compliance' ? status : durationMs) !== undefined;
  const ended = () => matching(log, filter).filter(isAnswered);
  const end = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]);
  if (await log.until(() => ended().length >= count, end)) return ended().map(entryOf);
  signal?.throwIfAborted();
  const { length } = ended();
  const last = matching(log, { after: filter.after })
    .slice(-3)
    .map(({ method, address, status }) => `${method} ${address} (${status ?? 'no response yet'})`);
  const others =
    last.length === 0 ? 'No request came' : `The last requests were ${last.join(', ')}`;
  throw new IncompleteError(
    `${call}: of ${count} requests, ${length} had come and were answered within ${timeoutMs} ms. ${others}`,
    { missing: [`${count - length} requests`] },
  );
}

function matching(log: RequestLog, filter: RequestFilter): readonly LoggedRequest[] {
  const { endpoint, path = '', method, status, after = 0 } = filter;
  const isAsked = (request: LoggedRequest) =>
    (endpoint === undefined ? request.endpoint !== 'control' : request.endpoint === endpoint) &&
    request.address.includes(path) &&
    (method === undefined || request.method === method.toUpperCase()) &&
    (status === undefined || request.status === status) &&
    request.number > after;
  return log.requests.filter(isAsked).toReversed();
}

function entryOf(request: LoggedRequest): RequestEntry {
  const { number, at, endpoint, method, address, quotas, error, ...rest } = request;
  const { pathname: path, searchParams } = new URL(address || '/', 'http://localhost');
  const query = Object.fromEntries(searchParams);
  return { number, at: new Date(at), endpoint, method, path, query, ...rest };
}
