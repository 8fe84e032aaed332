/** Seconds beyond which a `Retry-After` is taken for this long: 68 years, as HTTP does with an overflow. */
const MAX_RETRY_AFTER = 2 ** 31;
/** As HTTP writes dates. `Date.parse` alone takes `-5` for a day of May 2001. */
const HTTP_DATE = /^[A-Z][a-z]{2,8}, .* GMT$/;

/**
 * Milliseconds of a `Retry-After`, in seconds or as a date. A date is held against the response's own
 * `Date`, so that a clock that is wrong on either side does no harm. `undefined` for a value that asks
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
