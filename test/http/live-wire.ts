import type { ServerResponse } from 'node:http';
import { constants, createGzip } from 'node:zlib';
import {
  DAY,
  floorTo,
  formatSent,
  formatTimestamp,
  MINUTE,
  parseTimestamp,
  type Window,
} from '../../src/base/time.js';
import { type Received, type Reply, status } from './scripted-server.js';

export async function wireOf(
  messages: readonly string[],
  { trailer = true } = {},
): Promise<Buffer[]> {
  const gzip = createGzip();
  const pieces: Buffer[] = [];
  let piece: Buffer[] = [];
  gzip.on('data', chunk => piece.push(chunk));
  const take = () => {
    pieces.push(Buffer.concat(piece));
    piece = [];
  };
  for (const message of messages) {
    gzip.write(`${message}\r\n`);
    await new Promise<void>(resolve => gzip.flush(constants.Z_SYNC_FLUSH, resolve));
    take();
  }
  if (trailer) {
    await new Promise<void>(resolve => gzip.on('end', resolve).end());
    take();
  } else gzip.destroy();
  return pieces;
}

export function begin(response: ServerResponse): void {
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-encoding': 'gzip',
    connection: 'close',
  });
  response.flushHeaders();
}

export function send(response: ServerResponse, bytes: Buffer): Promise<void> {
  return new Promise(resolve => {
    response.write(bytes, () => resolve());
  });
}

export function stream(messages: readonly string[]): Reply {
  return async response => {
    begin(response);
    for (const piece of await wireOf(messages)) response.write(piece);
    response.end();
  };
}

export const COMPLETED = 'Replay Request Completed';
export const WITH_ERRORS = 'Replay Request Completed with Errors';
export const FAILED = 'Replay Request Failed to Complete';

export function info(message: string, count: number, more: object = {}): string {
  const sent = formatSent(Date.now());
  return JSON.stringify({ info: { message, sent, activity_count: count, ...more } });
}

export interface WirePost {
  readonly id: string;
  readonly minute: number;
  readonly json: string;
}

/**
 * A text that contains characters of 1 to 4 bytes, and a part that looks like the last message of a
 * replay.
 */
const LONG = 'snö ☃ 😀 "info" {"info":{"message":"Replay Request Completed"}}';

export function wirePosts({ from, to }: Window, perMinute = 2, text = LONG): WirePost[] {
  const posts: WirePost[] = [];
  for (let minute = from; minute < to; minute += MINUTE)
    for (let n = 0; n < perMinute; n++) {
      const id = String(1_700_000_000_000_000_000n + BigInt(minute + n));
      const time = new Date(minute + n * 1000).toUTCString();
      const [, day, date, month, year, clock] =
        /^(\w+), (\d+) (\w+) (\d+) ([\d:]+)/.exec(time) ?? [];
      const createdAt = `${day} ${month} ${date} ${clock} +0000 ${year}`;
      const json = `{"created_at":"${createdAt}","id":${id},"id_str":"${id}",\n"text":${JSON.stringify(text)}}`;
      posts.push({ id, minute, json });
    }
  return posts;
}

export function windowOf({ url }: Received): Window {
  const { searchParams } = new URL(url, 'http://x');
  const [from = 0, to = 0] = ['fromDate', 'toDate'].map(name =>
    parseTimestamp(searchParams.get(name) ?? ''),
  );
  return { from, to };
}

export function within(posts: readonly WirePost[], window: Window): WirePost[] {
  return posts.filter(({ minute }) => window.from <= minute && minute < window.to);
}

export function wholeReplay(posts: readonly WirePost[]): Reply {
  return async (response, request) => {
    const found = within(posts, windowOf(request)).map(({ json }) => json);
    await stream(['', ...found, '', info(COMPLETED, found.length)])(response, request);
  };
}

/**
 * Replies to every replay request like `wholeReplay`, but with 406 if dates are out of range at
 * `now()`.
 */
export function judgedReplay(posts: readonly WirePost[], now: () => number): Reply {
  return async (response, request) => {
    const { from, to } = windowOf(request);
    const young = to > now() - 30 * MINUTE || from > now() - 31 * MINUTE;
    const old = from < floorTo(MINUTE, now() - 5 * DAY);
    const name = young ? 'toDate' : 'fromDate';
    const message = `Invalid date for query parameter '${name}'.`;
    const reply =
      young || old ? status(406, JSON.stringify({ error: { message } })) : wholeReplay(posts);
    await reply(response, request);
  };
}

export function minuteOf(ms: number): string {
  return formatTimestamp(ms);
}
