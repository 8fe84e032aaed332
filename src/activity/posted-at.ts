const CREATED_AT = /^[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d \+0000 \d{4}$/;
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec';

/** Epoch milliseconds of `Wed Oct 10 20:19:24 +0000 2018`; `NaN` if it is not of that form. */
export function parseCreatedAt(text: string): number {
  if (!CREATED_AT.test(text)) return Number.NaN;
  const month = MONTHS.indexOf(text.slice(4, 7)) / 3;
  if (!Number.isInteger(month) || month < 0) return Number.NaN;
  const [day, hour, minute, second] = [8, 11, 14, 17].map(at => twoDigits(text, at));
  return Date.UTC(Number(text.slice(26)), month, day, hour, minute, second);
}

/** Epoch milliseconds of `2018-10-10T20:19:24.000Z`; `NaN` if it is not of that form. */
export function parseIsoTime(text: string): number {
  return ISO.test(text) ? Date.parse(text) : Number.NaN;
}

function twoDigits(text: string, at: number): number {
  return text.charCodeAt(at) * 10 + text.charCodeAt(at + 1) - 0x30 * 11;
}
