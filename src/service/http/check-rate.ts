import { DAY, SECOND } from '../../time.js';
import { HttpProblem } from './http-problem.js';
import { admit, fullOf, type RateWindow } from './rate-window.js';

/** Counts a request in all windows, or says 429 and when to come again. */
export function checkRate(
  windows: readonly RateWindow[],
  what: string,
  { count = true }: { readonly count?: boolean } = {},
): void {
  const full = count ? admit(windows) : fullOf(windows);
  if (full === undefined) return;
  const { requests, perMs, byDay } = full.window.rate;
  const span = byDay && perMs === DAY ? 'a UTC day' : `${perMs / SECOND} s`;
  throw new HttpProblem(429, `Exceeded rate limit: ${requests} requests in ${span} ${what}`, {
    'Retry-After': String(Math.ceil(full.waitMs / SECOND)),
  });
}

/** Counts a request of an application, or says 429, in the words of its family, and when to come again. */
export function checkAppRate(
  window: RateWindow,
  headers?: () => Readonly<Record<string, string>>,
): void {
  const full = admit([window]);
  if (full === undefined) return;
  throw new HttpProblem(429, 'Your app has exceeded the limit on API requests.', {
    ...headers?.(),
    'Retry-After': String(Math.ceil(full.waitMs / SECOND)),
  });
}
