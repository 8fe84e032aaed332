import type { IncomingMessage } from 'node:http';
import { isRecord } from '../../base/record.js';
import { parseTimestamp } from '../../base/time.js';
import { HttpProblem } from './http-problem.js';

/**
 * Reads the whole body of a request, and keeps it for `bodyOf`.
 *
 * @throws HttpProblem 413 if the body is longer than `maxBytes`, without reading the rest; 415 if it is
 * compressed.
 */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const coding = request.headers['content-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'identity')
    throw new HttpProblem(415, `Unsupported Media Type: a body in ${coding} cannot be read`);
  const tooLarge = `Payload Too Large: the body may have ${maxBytes} bytes`;
  if (Number(request.headers['content-length']) > maxBytes) throw new HttpProblem(413, tooLarge);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunksOf(request)) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new HttpProblem(413, tooLarge);
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks);
  bodies.set(request, body);
  return body;
}

/** Returns the unread chunks of a body. If the caller stops early, the connection stays usable. */
function chunksOf(request: IncomingMessage): AsyncIterable<Buffer> {
  return request.iterator({ destroyOnReturn: false });
}

const bodies = new WeakMap<IncomingMessage, Buffer>();

export function bodyOf(request: IncomingMessage): Buffer | undefined {
  return bodies.get(request);
}

export function isUnread({ complete, headers }: IncomingMessage): boolean {
  const hasBody =
    headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  return hasBody && !complete;
}

const MAX_DRAINED_BYTES = 64 * 1024 * 1024;

/**
 * Reads and drops the rest of a body after its response was sent. Many clients read the response only after
 * they have sent the whole body. If the connection were closed earlier, it would be reset, and the response
 * lost.
 *
 * @returns Whether the body has ended; false if it is too long or the client has disconnected.
 */
export async function drainBody(request: IncomingMessage): Promise<boolean> {
  let bytes = 0;
  try {
    for await (const chunk of chunksOf(request)) {
      bytes += chunk.length;
      if (bytes > MAX_DRAINED_BYTES) return false;
    }
    return true;
  } catch {
    return false;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

export function parseJsonObject(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes));
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export interface DateBounds {
  readonly earliest: number;
  readonly tooEarly: string;
  readonly latest: number;
  readonly tooLate: string;
}

/**
 * Reads a date from a request. Adds any problem to `problems`.
 *
 * @param what The name of the date, such as `query parameter 'fromDate'`.
 */
export function readDate(
  text: string,
  what: string,
  { earliest, tooEarly, latest, tooLate }: DateBounds,
  problems: string[],
): number | undefined {
  const ms = parseTimestamp(text);
  if (ms === undefined)
    problems.push(
      `Invalid date format for ${what}. Expected format is 'yyyyMMddHHmm'. ` +
        "For example, '201701012315' for January 1st, 11:15 pm 2017 UTC.",
    );
  else if (ms > latest) problems.push(`Invalid date for ${what}. ${tooLate}`);
  else if (ms < earliest) problems.push(`Invalid date for ${what}. ${tooEarly}`);
  return ms;
}
