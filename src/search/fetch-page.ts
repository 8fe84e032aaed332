import { DataError } from '../base/errors.js';
import { isRecord } from '../base/record.js';
import { type Dates, parseTimestamp } from '../base/time.js';
import { cutResponse } from '../http/connection-errors.js';
import type { HttpResponse } from '../http/http-message.js';
import { notJson } from '../http/read-json.js';
import { request } from '../http/request.js';
import { ElementSplitter } from '../json/element-splitter.js';
import type { Damaged } from '../json/records.js';
import { type Params, type Query, SPAN_30DAY } from './query.js';

/** Parses an element of `results`. Throws a `DataError` if the element is damaged. */
export type ParseElement<T> = (bytes: Buffer, url: string) => T;

export interface Page<T> {
  readonly items: readonly T[];
  readonly damaged: readonly Damaged[];
  /** The token of the next page; absent on the last page. */
  readonly next: string | undefined;
  readonly window: Partial<Dates>;
  /** The size of the response as received, before decoding. */
  readonly receivedBytes: number;
  /** All members of the response except `results`. */
  readonly rest: Readonly<Record<string, unknown>>;
}

/**
 * The maximum size of a response in bytes. It prevents an endless response from filling the memory. The limit
 * is larger than any page of 500 posts or any month of minute counts.
 */
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_ELEMENTS = 100_000;
/**
 * The depth of a whole response is practically unlimited. The depth of each element is checked later, so that
 * one element that is too deep does not fail the whole page.
 */
const MAX_DEPTH = 100_000;
/** How many bytes from the start of a response are kept, for the error if the response is not JSON. */
const START_BYTES = 512;

/**
 * Requests one page, and resolves once the page is complete. A truncated page is requested again. To avoid
 * delivering items twice, all items are held until the end of the page. A page has at most 500 posts, so this
 * costs little memory.
 *
 * @param params The parameters to send, including `next`.
 */
export function fetchPage<T>(
  { account, url, method, product, spending }: Query,
  params: Params,
  parse: ParseElement<T>,
  signal: AbortSignal,
): Promise<Page<T>> {
  const address = new URL(url);
  if (method === 'GET')
    address.search = Object.entries(params)
      .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
      .join('&');
  const headers = { 'content-type': 'application/json; charset=utf-8' };
  const sent = method === 'GET' ? {} : { body: JSON.stringify(params), headers };
  const onTry = spending && (() => spending.request());
  const isTooOld = (status: number) =>
    status === 422 && product === '30day' && isBefore(account.clock.now() - SPAN_30DAY, params);
  const advice = (status: number) =>
    isTooOld(status) ? "For older posts, pass `product: 'fullarchive'`" : undefined;
  const call = { method, url: address, family: 'search', signal, onTry, advice, ...sent } as const;
  return request(account, call, response => readPage(response, params, parse));
}

function isBefore(oldest: number, { fromDate, toDate }: Params): boolean {
  return [fromDate, toDate].some(date => (parseTimestamp(String(date)) ?? oldest) < oldest);
}

async function readPage<T>(
  response: HttpResponse,
  params: Params,
  parse: ParseElement<T>,
): Promise<Page<T>> {
  const { url } = response;
  const splitter = new ElementSplitter('results', {
    origin: url,
    maxBytes: MAX_BYTES,
    maxDepth: MAX_DEPTH,
    maxElements: MAX_ELEMENTS,
  });
  const elements: Buffer[] = [];
  let bytes = 0;
  let start: Buffer = Buffer.alloc(0);
  let wrong: { readonly error: unknown } | undefined;
  for await (const chunk of response.body) {
    if (start.toString().trim() === '') start = chunk.subarray(0, START_BYTES);
    else if (start.length < START_BYTES)
      start = Buffer.concat([start, chunk]).subarray(0, START_BYTES);
    bytes += chunk.length;
    if (bytes > MAX_BYTES)
      throw new DataError(`The response is larger than ${MAX_BYTES} bytes`, {
        position: { origin: url },
      });
    // Throws an error in the JSON only after the last chunk. If damage in transit has caused the error, the
    // checksum of the compressed response fails at its end, and the response is requested again.
    if (wrong === undefined)
      try {
        splitter.push(chunk, elements);
      } catch (error) {
        wrong = { error };
      }
  }
  if (wrong !== undefined)
    throw /^\s*[[{]/.test(String(start))
      ? wrong.error
      : notJson(response, String(start), wrong.error);
  // The connection ended normally, but the document is truncated. This throws the same error as for a broken
  // connection, which causes a retry.
  if (!splitter.whole) throw cutResponse(url, 'its JSON document has no end');
  const rest = splitter.end();
  return {
    ...parseAll(elements, parse, url, params),
    next: nextOf(rest, url),
    window: checkEcho(rest.requestParameters, params, url),
    receivedBytes: response.receivedBytes,
    rest,
  };
}

function parseAll<T>(
  elements: readonly Buffer[],
  parse: ParseElement<T>,
  origin: string,
  request: Params,
): Pick<Page<T>, 'items' | 'damaged'> {
  const items: T[] = [];
  const damaged: Damaged[] = [];
  for (const [index, raw] of elements.entries())
    try {
      items.push(parse(raw, origin));
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
      damaged.push({
        record: { raw: Buffer.from(raw), origin, request, record: index + 1 },
        error,
      });
    }
  return { items, damaged };
}

function nextOf({ next }: Readonly<Record<string, unknown>>, origin: string): string | undefined {
  if (next === undefined || next === null) return undefined;
  if (typeof next !== 'string' || next === '')
    throw new DataError(`The response's \`next\` is not a token: ${JSON.stringify(next)}`, {
      position: { origin },
    });
  return next;
}

/**
 * Checks the parameters that the response repeats. If they differ from `params`, the response belongs to
 * another request. Returns the dates that the service used.
 */
function checkEcho(echo: unknown, params: Params, origin: string): Partial<Dates> {
  if (echo === undefined) return {};
  if (!isRecord(echo))
    throw new DataError('The response has `requestParameters` that are not an object', {
      position: { origin },
    });
  for (const name of ['fromDate', 'toDate', 'maxResults', 'bucket'])
    if (params[name] !== undefined && echo[name] !== undefined)
      mustEqual(name, echo[name], params[name], origin);
  const dates: { -readonly [Name in keyof Dates]?: string } = {};
  for (const name of ['fromDate', 'toDate'] as const) {
    const value = echo[name];
    if (typeof value === 'string' && parseTimestamp(value) !== undefined) dates[name] = value;
    else if (value !== undefined)
      throw new DataError(
        `The response echoes a ${name} that is not a date: ${JSON.stringify(value)}`,
        { position: { origin } },
      );
  }
  return dates;
}

/** @throws DataError If the response belongs to another request. */
export function mustEqual(name: string, echoed: unknown, asked: unknown, origin: string): void {
  if (String(echoed) === String(asked)) return;
  throw new DataError(
    `The response is to another request: its ${name} is ${String(echoed)}, not ${String(asked)}`,
    { position: { origin } },
  );
}
