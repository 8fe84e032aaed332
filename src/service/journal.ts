import { checkOptions, milliseconds, oneOf, text, whole } from '../base/check.js';
import { IncompleteError } from '../base/errors.js';
import type { JournalEntry, LoggedRequest, RequestLog } from './http/request-log.js';
import { ENDPOINTS, type Endpoint } from './http/router.js';

/** Which requests of the journal. By default all but those of the control path. */
export interface JournalFilter {
  /** The family: `search`, `counts`, `jobs`, ... */
  readonly endpoint?: Endpoint | undefined;
  /** Only requests whose path and query contain this text. */
  readonly path?: string | undefined;
  readonly method?: string | undefined;
  /** Only with this status of the response. */
  readonly status?: number | undefined;
  /** Only requests with a greater number. */
  readonly after?: number | undefined;
}

/** How many requests to wait for, and for how long. */
export interface JournalWait extends JournalFilter {
  /** @default 1 */
  readonly count?: number | undefined;
  /** Milliseconds of real time. @default 10,000 */
  readonly timeoutMs?: number | undefined;
}

const FILTER = {
  endpoint: oneOf('the family of the requests', ENDPOINTS),
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

/** The last requests of a service, as tests see them, in order of arrival. @throws OptionError */
export function journalEntries(log: RequestLog, filter: JournalFilter): readonly JournalEntry[] {
  const checked = checkOptions<JournalFilter, typeof FILTER>('service.requests', FILTER, filter);
  return matching(log, checked).map(entryOf);
}

/**
 * Resolves with the requests once enough of them have come and their responses have ended. A compliance stream counts once it
 * is accepted.
 *
 * @throws OptionError; IncompleteError after the longest wait.
 */
export async function waitForRequests(
  log: RequestLog,
  wait: JournalWait,
  signal?: AbortSignal,
): Promise<readonly JournalEntry[]> {
  const call = 'service.waitForRequests';
  const checked = checkOptions<JournalWait, typeof WAIT>(call, WAIT, wait);
  const { count, timeoutMs, ...filter } = checked;
  // A compliance stream does not end until its client does, so it counts once it is accepted.
  const isAnswered = ({ endpoint, status, durationMs }: LoggedRequest) =>
    (endpoint === 'compliance' ? status : durationMs) !== undefined;
  const ended = () => matching(log, filter).filter(isAnswered);
  const end = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]);
  if (await log.until(() => ended().length >= count, end)) return ended().map(entryOf);
  signal?.throwIfAborted();
  const { length } = ended();
  // What came instead.
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

function matching(log: RequestLog, filter: JournalFilter): readonly LoggedRequest[] {
  const { endpoint, path = '', method, status, after = 0 } = filter;
  const isAsked = (request: LoggedRequest) =>
    (endpoint === undefined ? request.endpoint !== 'control' : request.endpoint === endpoint) &&
    request.address.includes(path) &&
    (method === undefined || request.method === method.toUpperCase()) &&
    (status === undefined || request.status === status) &&
    request.number > after;
  return log.requests.filter(isAsked).toReversed();
}

function entryOf(request: LoggedRequest): JournalEntry {
  const { number, at, endpoint, method, address, quotas, error, ...rest } = request;
  const { pathname: path, searchParams } = new URL(address || '/', 'http://localhost');
  const query = Object.fromEntries(searchParams);
  return { number, at: new Date(at), endpoint, method, path, query, ...rest };
}
