import { DAY, SECOND } from '../../time.js';
import { HttpProblem } from './http-problem.js';
import { admit, fullOf, type RateWindow } from './rate-window.js';

export interface RateCheck {
  /** Whether the request is counted; `false` for one that is counted when it succeeds. */
  readonly count?: boolean | undefined;
  /** Additional headers of the 429. */
  readonly headers?: (() => Readonly<Record<string, string>>) | undefined;
}

/**
 * Counts a request in all windows or in none.
 *
 * @param message The message of the family for an exceeded limit.
 * @throws HttpProblem 429 with `Retry-After` if a window is full.
 */
export function checkRate(
  windows: readonly RateWindow[],
  message: (full: RateWindow) => string,
  { count = true, headers }: RateCheck = {},
): void {
  const full = count ? admit(windows) : fullOf(windows);
  if (full === undefined) return;
  throw new HttpProblem(429, message(full.window), {
    ...headers?.(),
    'Retry-After': String(Math.ceil(full.waitMs / SECOND)),
  });
}

/** `Exceeded rate limit: 2 requests in 60 s for usage`. */
export function rateExceeded(what: string): (full: RateWindow) => string {
  return ({ rate: { requests, perMs, byDay } }) => {
    const span = byDay && perMs === DAY ? 'a UTC day' : `${perMs / SECOND} s`;
    return `Exceeded rate limit: ${requests} requests in ${span} ${what}`;
  };
}

/** Streams. */
export const connectionsExceeded = (): string =>
  'Your app has exceeded the limit on connection requests.';

/** Applications of OAuth. */
export const requestsExceeded = (): string => 'Your app has exceeded the limit on API requests.';
