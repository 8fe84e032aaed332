import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { samplePosts } from 'millrace/service';

// Answers search requests after a delay. Each minute of the time range has a page of 500 posts,
// newest first. All pages are prepared in advance. When the parent process sends a message, the
// server answers with the maximum number of requests that it has received in one second.
const [minutes = 0, latencyMs = 0] = process.argv.slice(2).map(Number);
const TO = Date.UTC(2022, 9, 4);
const MINUTE = 60_000;

interface Asked {
  readonly fromDate: string;
  readonly toDate: string;
  readonly next?: string;
}

const pages = new Map<number, string>();
for (let minute = 1; minute <= minutes; minute++) {
  const at = TO - minute * MINUTE;
  const posts = [...samplePosts(at, { postsPerMinute: 500 })].slice(0, 500).reverse();
  pages.set(at, `{"results":[${posts.map(({ raw }) => raw.toString()).join(',')}]`);
}
/**
 * The bodies of all pages, with and without a `next` token. They are created in advance, so that no
 * request has to wait for its page.
 */
const bodies = new Map(
  [...pages].flatMap(([at, results]) =>
    ['', `,"next":"${at - MINUTE}"`].map(
      next => [`${at}${next}`, gzipSync(`${results}${next}}`, { level: 4 })] as const,
    ),
  ),
);
let arrivals: number[] = [];

const server = createServer(async (request, response) => {
  arrivals.push(performance.now());
  const { fromDate, toDate, next } = JSON.parse(await textOf(request)) as Asked;
  const at = next === undefined ? timeOf(toDate) - MINUTE : Number(next);
  const more = at - MINUTE >= timeOf(fromDate);
  const body = bodies.get(`${at}${more ? `,"next":"${at - MINUTE}"` : ''}`) as Buffer;
  await sleep(latencyMs);
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-encoding': 'gzip',
    'content-length': body.length,
  });
  response.end(body);
});
process.on('message', () => {
  const most = Math.max(
    ...arrivals.map(at => arrivals.filter(one => one >= at && one < at + 1_000).length),
  );
  process.send?.({ requests: arrivals.length, most });
  arrivals = [];
});
server.listen(0, '127.0.0.1', () => {
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

/** Parses a date in the form `YYYYMMDDHHMM`. */
function timeOf(date: string): number {
  const [year, month, day, hour, minute] = [
    date.slice(0, 4),
    ...(date.slice(4).match(/../g) ?? []),
  ].map(Number) as [number, number, number, number, number];
  return Date.UTC(year, month - 1, day, hour, minute);
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
}
