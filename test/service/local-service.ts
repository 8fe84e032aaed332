import { DAY, MINUTE } from '../../src/base/time.js';
import type { ArchivedPost } from '../../src/service/archive/archive.js';
import { createService, type Service, type ServiceOptions } from '../../src/service/index.js';
import { afterTests } from '../after-tests.js';
import { MemoryArchive, originalPost } from './memory-archive.js';

/** In these tests, the service's clock is frozen at this time. */
export const NOW = Date.UTC(2024, 4, 15, 12, 34, 56, 789);

export interface Page {
  readonly results: readonly Record<string, unknown>[];
  readonly next?: string;
  readonly totalCount?: number;
  readonly requestParameters: Record<string, unknown>;
  readonly error?: {
    readonly message: string;
    readonly sent: string;
    readonly transactionId: string;
  };
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly page: Page;
}

export interface Local {
  readonly service: Service;
  readonly archive: MemoryArchive;
  readonly baseUrl: string;
  /** Sends a search with these parameters as a POST. The product is `30day` by default. */
  search(parameters: object, product?: string): Promise<Reply>;
  counts(parameters: object, product?: string): Promise<Reply>;
  /** Sends any request. Adds credentials if the request has none. */
  ask(path: string, init?: RequestInit): Promise<Reply>;
  pages(kind: 'search' | 'counts', parameters: object, product?: string): Promise<Page[]>;
}

export const AUTHORIZATION = `Basic ${Buffer.from('dev@example.com:local-service').toString('base64')}`;
export const SEARCH_PATH = '/search/30day/accounts/local/dev.json';
export const COUNTS_PATH = '/search/30day/accounts/local/dev/counts.json';

const running: Service[] = [];

afterTests(async () => {
  for (const service of running.splice(0)) await service.stop();
});

/**
 * Starts a service with posts in memory and a clock that is frozen at `NOW`. It stops after the
 * test.
 */
export async function local(
  posts: readonly ArchivedPost[] = [],
  { port, ...options }: ServiceOptions & { port?: number } = {},
): Promise<Local> {
  const archive = new MemoryArchive(posts);
  const service = createService({ limits: 'relaxed', archive, ...options });
  running.push(service);
  service.clock.freeze();
  service.clock.set(NOW);
  const { baseUrl } = await service.start(port);

  const ask = async (path: string, init: RequestInit = {}): Promise<Reply> => {
    const headers = new Headers(init.headers);
    if (!headers.has('authorization')) headers.set('authorization', AUTHORIZATION);
    const response = await fetch(baseUrl + path, { ...init, headers });
    const text = await response.text();
    const page = text === '' ? ({} as Page) : (JSON.parse(text) as Page);
    return { status: response.status, headers: response.headers, text, page };
  };
  const post = (path: string, parameters: object) =>
    ask(path, {
      method: 'POST',
      body: JSON.stringify(parameters),
      headers: { 'content-type': 'application/json' },
    });
  const search: Local['search'] = (parameters, product = '30day') =>
    post(SEARCH_PATH.replace('30day', product), parameters);
  const counts: Local['counts'] = (parameters, product = '30day') =>
    post(COUNTS_PATH.replace('30day', product), parameters);
  const pages: Local['pages'] = async (kind, parameters, product) => {
    const all: Page[] = [];
    for (let next: string | undefined; all.length === 0 || next !== undefined; ) {
      const reply = await (kind === 'search' ? search : counts)({ ...parameters, next }, product);
      if (reply.status !== 200) throw new Error(`${reply.status} ${reply.text}`);
      all.push(reply.page);
      next = reply.page.next;
    }
    return all;
  };
  return { service, archive, baseUrl, search, counts, ask, pages };
}

/**
 * Creates `count` posts about tea, `every` milliseconds apart. The newest is `newest` milliseconds
 * old.
 */
export function teaPosts(count: number, { every = MINUTE, newest = DAY } = {}): ArchivedPost[] {
  return Array.from({ length: count }, (_, i) => {
    const at = NOW - newest - i * every;
    return originalPost(at, String(1_790_000_000_000_000_000n - BigInt(i)), `tea number ${i}`);
  });
}

export function idsOf(page: Page): string[] {
  return page.results.map(post => String(post.id_str));
}
