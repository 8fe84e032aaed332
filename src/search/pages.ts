import { DataError } from '../errors.js';
import { type EchoedWindow, fetchPage, mustEqual, type Page } from './page.js';
import type { Params, Query } from './query.js';

/** How many tokens are remembered to notice that they repeat. */
const TOKENS = 1_000;

export interface PagesOptions<T> {
  /** The request as it is sent, but for `next`. */
  readonly params: Params;
  readonly next: string | undefined;
  /** What earlier answers said of the dates. */
  readonly window: EchoedWindow;
  readonly parse: (bytes: Buffer, url: string) => T | undefined;
  readonly signal: AbortSignal;
  /** Whether the page after this one is wanted. */
  readonly goOn: (page: Page<T>) => boolean;
}

/**
 * The pages of one request, each asked for with the `next` of the one before and otherwise alike
 * (4.1 rule 4). Ends with the page that has no `next`.
 *
 * @throws DataError when a token comes again, which would go round for ever, or when an answer is to
 * another request.
 */
export async function* pagesOf<T>(
  query: Query,
  { params, next, window, parse, signal, goOn }: PagesOptions<T>,
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
        place: { origin },
      });
    yield { ...page, window: fixed };
    if (token === undefined || !goOn(page)) return;
    tokens.add(token);
    for (const oldest of tokens) if (tokens.size > TOKENS) tokens.delete(oldest);
  }
}

/** The first answer fixes the dates for all pages (4.1 rule 5: the same token, the same results). */
function fixWindow(fixed: EchoedWindow, echoed: EchoedWindow, origin: string): EchoedWindow {
  for (const name of ['fromDate', 'toDate'] as const)
    if (fixed[name] !== undefined && echoed[name] !== undefined)
      mustEqual(name, echoed[name], fixed[name], origin);
  return { ...echoed, ...fixed };
}
