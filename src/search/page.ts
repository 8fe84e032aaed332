import { DataError } from '../errors.js';
import { cutResponse } from '../http/connection-errors.js';
import type { HttpResponse } from '../http/http-message.js';
import { notJson } from '../http/read-json.js';
import { request } from '../http/request.js';
import { ElementSplitter } from '../json/element-splitter.js';
import { parseTimestamp } from '../time.js';
import type { Params, Query } from './query.js';

/** One answer of search or counts (service.md 2.3, 2.4). */
export interface Page<T> {
  readonly items: readonly T[];
  /** Absent on the last page (4.1 rule 4). */
  readonly next: string | undefined;
  /** The dates that the service says it used. */
  readonly window: EchoedWindow;
  /** As they were on the wire. */
  readonly receivedBytes: number;
  /** The rest of the answer: all but `results`. */
  readonly rest: Readonly<Record<string, unknown>>;
}

export interface EchoedWindow {
  readonly fromDate?: string | undefined;
  readonly toDate?: string | undefined;
}

/** More than any page of 500 posts: an answer without an end must not fill the memory. */
const MOST_BYTES = 256 * 1024 * 1024;
/** What of an answer is kept to say what it is, where it is not JSON. */
const START_BYTES = 512;

/**
 * Requests one page and resolves once it is whole. Its `next`, and the proof that it is complete,
 * stand at its end, and a page that breaks off is requested again: what is handed out earlier would
 * be handed out twice. A page has at most 500 posts, so holding it costs little.
 *
 * @param params The request as it is sent, `next` among it.
 */
export function fetchPage<T>(
  { account, url, method }: Query,
  params: Params,
  parse: (bytes: Buffer, url: string) => T | undefined,
  signal: AbortSignal,
): Promise<Page<T>> {
  const address = new URL(url);
  if (method === 'GET')
    address.search = Object.entries(params)
      .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
      .join('&');
  const sent =
    method === 'GET'
      ? {}
      : {
          body: JSON.stringify(params),
          headers: { 'content-type': 'application/json; charset=utf-8' },
        };
  return request(account, { method, url: address, family: 'search', signal, ...sent }, answer =>
    readPage(answer, params, parse),
  );
}

async function readPage<T>(
  answer: HttpResponse,
  params: Params,
  parse: (bytes: Buffer, url: string) => T | undefined,
): Promise<Page<T>> {
  const { url } = answer;
  const splitter = new ElementSplitter('results', {
    // Each element is judged by itself: one must not stop the page.
    ...{ origin: url, maxBytes: MOST_BYTES, maxDepth: Number.POSITIVE_INFINITY },
  });
  const elements: Buffer[] = [];
  let bytes = 0;
  let start = '';
  let wrong: { readonly error: unknown } | undefined;
  for await (const chunk of answer.body) {
    if (start.trim() === '') start = chunk.subarray(0, START_BYTES).toString();
    bytes += chunk.length;
    if (bytes > MOST_BYTES)
      throw new DataError(`The answer is larger than ${MOST_BYTES} bytes`, {
        place: { origin: url },
      });
    // Where a compressed answer was damaged on the way, its checksum at the end tells, and it is worth
    // another try: so what is wrong with the document has to wait for that.
    if (wrong === undefined)
      try {
        splitter.push(chunk, elements);
      } catch (error) {
        wrong = { error };
      }
  }
  if (wrong !== undefined)
    throw /^\s*[[{]/.test(start) ? wrong.error : notJson(answer, start, wrong.error);
  // The connection ended in good order, but not the document: as good as a connection that broke.
  if (!splitter.whole) throw cutResponse(url, 'its JSON document has no end');
  const rest = splitter.end();
  return {
    items: elements.map(element => parse(element, url)).filter(item => item !== undefined),
    next: nextOf(rest, url),
    window: checkEcho(rest.requestParameters, params, url),
    receivedBytes: answer.receivedBytes,
    rest,
  };
}

function nextOf({ next }: Readonly<Record<string, unknown>>, origin: string): string | undefined {
  if (next === undefined || next === null) return undefined;
  if (typeof next !== 'string' || next === '')
    throw new DataError(`The answer's \`next\` is no token: ${JSON.stringify(next)}`, {
      place: { origin },
    });
  return next;
}

/**
 * The service repeats what it was asked for. Anything else than what was sent would be the answer to
 * another request; the dates that were not sent are resolved there (4.1 rule 1).
 */
function checkEcho(echo: unknown, params: Params, origin: string): EchoedWindow {
  if (echo === undefined) return {};
  if (typeof echo !== 'object' || echo === null)
    throw new DataError('The answer has `requestParameters` that are no object', {
      place: { origin },
    });
  const echoed = echo as Readonly<Record<string, unknown>>;
  for (const name of ['fromDate', 'toDate', 'maxResults', 'bucket'])
    if (params[name] !== undefined && echoed[name] !== undefined)
      mustEqual(name, echoed[name], params[name], origin);
  return { ...dateOf(echoed, 'fromDate', origin), ...dateOf(echoed, 'toDate', origin) };
}

function dateOf(
  echoed: Readonly<Record<string, unknown>>,
  name: string,
  origin: string,
): EchoedWindow {
  const value = echoed[name];
  if (value === undefined) return {};
  if (typeof value !== 'string' || parseTimestamp(value) === undefined)
    throw new DataError(`The answer echoes a ${name} that is no date: ${JSON.stringify(value)}`, {
      place: { origin },
    });
  return { [name]: value };
}

/** Throws when an answer is to another request than the one that was sent. */
export function mustEqual(name: string, echoed: unknown, asked: unknown, origin: string): void {
  if (String(echoed) === String(asked)) return;
  throw new DataError(
    `The answer is to another request: its ${name} is ${String(echoed)}, not ${String(asked)}`,
    { place: { origin } },
  );
}
