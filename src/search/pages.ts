import { DataError } from '../errors.js';
import {
  type EchoedWindow,
  fetchPage,
  mustEqual,
  type Page,
  type ParseElement,
} from './fetch-page.js';
import type { Params, Query } from './query.js';

/** The number of tokens that are stored to detect a repeated one. */
const MAX_TOKENS = 1_000;

export interface PagesOptions<T> {
  /** The request without `next`. */
  readonly params: Params;
  readonly next: string | undefined;
  /** The dates that earlier pages echoed. */
  readonly window: EchoedWindow;
  readonly parse: ParseElement<T>;
  readonly signal: AbortSignal;
  /** Whether to request the next page. */
  readonly needsNext: (page: Page<T>) => boolean;
}

/**
 * The pages of one request: each is requested with the `next` of the one before and otherwise the same
 * parameters. Ends with the page that has no `next`.
 *
 * @throws DataError If a token is repeated, which would never end, or if a response belongs to
 * another request.
 */
export async function* pagesOf<T>(
  query: Query,
  { params, next, window, parse, signal, needsNext }: PagesOptions<T>,
): AsyncGenerator<Page<T>, void, undefined> {
  const origin = query.url.href;
  const tokens = new Set(next === undefined ? [] : [next]);
  let fixed = window;
  let token = next;
  while (true) {
    const sent = token === undefined ? params : { ...params, next: token };
    const page = await fetchPage(query, sent, parse, signal);
    fixed = fixWindow(fixed, page.window, origin);
    token = page.next;
    if (token !== undefined && tokens.has(token))
      throw new DataError(`The service repeats the \`next\` token ${token}: the pages go round`, {
        position: { origin },
      });
    yield { ...page, window: fixed };
    if (token === undefined || !needsNext(page)) return;
    tokens.add(token);
    for (const oldest of tokens) if (tokens.size > MAX_TOKENS) tokens.delete(oldest);
  }
}

/** The first page fixes the dates for all pages. */
function fixWindow(fixed: EchoedWindow, echoed: EchoedWindow, origin: string): EchoedWindow {
  for (const name of ['fromDate', 'toDate'] as const)
    if (fixed[name] !== undefined && echoed[name] !== undefined)
      mustEqual(name, echoed[name], fixed[name], origin);
  return { ...echoed, ...fixed };
}
