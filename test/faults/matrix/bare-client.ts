import { createHash } from 'node:crypto';
import { Agent, request } from 'node:http';
import { gunzipSync } from 'node:zlib';
import type { Addresses } from 'millrace/service';

// The client of the tests themselves. It shares no code with the library, so that a mistake in the
// library cannot change the expected results. It uses `node:http`, `zlib` and hand-written scans.

/** The records that a pipeline must output once each: key, such as an id, to hash or count. */
export type Expected = ReadonlyMap<string, string>;

const agent = new Agent({ keepAlive: true });

interface BareRequest {
  readonly method?: string;
  readonly body?: string;
}

export async function fetchBody(
  { email, password }: Pick<Addresses, 'email' | 'password'>,
  url: string,
  options?: BareRequest,
): Promise<string> {
  const authorization = `Basic ${Buffer.from(`${email}:${password}`).toString('base64')}`;
  return fetchWith({ authorization }, url, options);
}

export async function fetchWith(
  headers: Readonly<Record<string, string>>,
  url: string,
  { method = 'GET', body }: BareRequest = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, {
      method,
      agent,
      headers: { ...headers, 'accept-encoding': 'gzip' },
    });
    outgoing.on('error', reject);
    outgoing.on('response', response => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const bytes = Buffer.concat(chunks);
        // Data files are gzip, too, although their responses have no content encoding.
        const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
        const text = (isGzip ? gunzipSync(bytes) : bytes).toString();
        const { statusCode = 0 } = response;
        if (statusCode >= 200 && statusCode < 300) resolve(text);
        else reject(new Error(`${method} ${url}: ${statusCode} ${text}`));
      });
    });
    outgoing.end(body);
  });
}

export async function isRefused(
  addresses: Pick<Addresses, 'email' | 'password'>,
  url: string,
  status: number,
): Promise<boolean> {
  const failure = await fetchBody(addresses, url).then(
    () => '',
    (error: Error) => error.message,
  );
  return failure.startsWith(`GET ${url}: ${status} `);
}

export async function fetchPages(
  addresses: Addresses,
  path: string,
  parameters: Readonly<Record<string, string | number>>,
): Promise<string[]> {
  const pages: string[] = [];
  for (let next: string | undefined; ; ) {
    const body = JSON.stringify(next === undefined ? parameters : { ...parameters, next });
    const page = await fetchBody(addresses, addresses.baseUrl + path, { method: 'POST', body });
    pages.push(page);
    next = /"next":"([^"]*)"/.exec(page.slice(page.lastIndexOf('}]') + 1))?.[1];
    if (next === undefined) return pages;
  }
}

/** Returns the exact text of each object in the array under a top-level key. */
export function elementsOf(document: string, key: string): string[] {
  const start = document.indexOf(`"${key}":[`);
  if (start === -1) throw new Error(`No array "${key}" in ${document.slice(0, 200)}`);
  const elements: string[] = [];
  let depth = 0;
  let begin = 0;
  let isText = false;
  for (let at = start + key.length + 4; at < document.length; at++) {
    const character = document[at];
    if (isText) {
      if (character === '\\') at++;
      else if (character === '"') isText = false;
    } else if (character === '"') isText = true;
    else if (character === '{') {
      if (depth++ === 0) begin = at;
    } else if (character === '}') {
      if (--depth === 0) elements.push(document.slice(begin, at + 1));
    } else if (character === ']' && depth === 0) return elements;
  }
  throw new Error(`The array "${key}" has no end`);
}

export function isItem(line: string): boolean {
  return /"id_str"|"timestamp_?ms"/i.test(line);
}

/**
 * Splits a page into the elements of its array, or into the totals of each post. The first and the
 * last element include the text around the array.
 */
export function elementsIn(page: string): string[] {
  return page.split(/(?<=\}),(?=\{"(?:created_at|timePeriod)|"\d+":\{)/);
}

/**
 * Returns the id of a post: the first `id_str` at the top level of the record. Skips the ids of
 * nested posts.
 */
export function idOf(record: string): string {
  let depth = 0;
  for (let at = 0; at < record.length; at++) {
    const character = record[at];
    if (character === '"') {
      const end = endOfText(record, at);
      if (depth === 1 && record.startsWith('"id_str":"', at)) {
        const value = at + '"id_str":"'.length;
        return record.slice(value, record.indexOf('"', value));
      }
      at = end;
    } else if (character === '{' || character === '[') depth++;
    else if (character === '}' || character === ']') depth--;
  }
  throw new Error(`No id_str in ${record.slice(0, 200)}`);
}

function endOfText(record: string, quote: number): number {
  for (let at = quote + 1; at < record.length; at++)
    if (record[at] === '\\') at++;
    else if (record[at] === '"') return at;
  throw new Error('A text without an end');
}

export function hashOf(record: string): string {
  return createHash('sha256').update(record).digest('hex');
}

export function expectedPosts(records: readonly string[]): Expected {
  const expected = new Map<string, string>();
  for (const record of records) {
    const id = idOf(record);
    const hash = hashOf(record);
    const before = expected.get(id);
    if (before !== undefined && before !== hash) throw new Error(`Two different posts ${id}`);
    expected.set(id, hash);
  }
  return expected;
}
