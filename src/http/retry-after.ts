/** The longest `Retry-After` in seconds, 68 years: HTTP treats larger numbers as an overflow. */
const MAX_RETRY_AFTER = 2 ** 31;
/** The format of HTTP dates. `Date.parse` alone reads `-5` as a day of May 2001. */
const HTTP_DATE = /^[A-Z][a-z]{2,8}, .* GMT$/;

/**
 * Milliseconds of a `Retry-After`, in seconds or as a date. A date is compared with the response's own
 * `Date`, so that a wrong clock on either side does not matter. `undefined` for a value that asks
 * for no wait, such as 0 or a date in the past, and for one that is neither: the usual backoff applies.
 */
export function parseRetryAfter(
  value: string | undefined,
  date: string | undefined,
  now: number,
): number | undefined {
  const text = value?.trim() ?? '';
  if (/^\d+$/.test(text)) return Math.min(Number(text), MAX_RETRY_AFTER) * 1000 || undefined;
  const until = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  const sent = Date.parse(date ?? '');
  const waitMs = until - (Number.isNaN(sent) ? now : sent);
  return waitMs > 0 ? waitMs : undefined;
}
