import { COLON, digitsIn, isSmallLetter, isTextAt, SPACE } from '../json/byte-codes.js';

const CREATED_AT = /^[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d \+0000 \d{4}$/;
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec';
/** The number of days in each month of a leap year. */
const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const ZONE = Buffer.from(' +0000 ');
const ISO_MARKS = Buffer.from('--T::.Z');
const ISO_PLACES = [4, 7, 10, 13, 16, 19, 23];

/**
 * Parses a time such as `Wed Oct 10 20:19:24 +0000 2018`. Returns epoch milliseconds, or `NaN` for any other
 * format.
 */
export function parseCreatedAt(text: string): number {
  if (!CREATED_AT.test(text)) return Number.NaN;
  const month = MONTHS.indexOf(text.slice(4, 7)) / 3;
  if (!Number.isInteger(month) || month < 0) return Number.NaN;
  const [day, hour, minute, second] = [8, 11, 14, 17].map(at => twoDigits(text, at));
  return Date.UTC(Number(text.slice(26)), month, day, hour, minute, second);
}

/**
 * Parses a time such as `Wed Oct 10 20:19:24 +0000 2018` from the 30 bytes at `start`, without creating a
 * string. Returns epoch milliseconds, or `NaN` for any other format. Also returns `NaN` for a day that its
 * month never has, and for a year before 1000.
 */
export function createdAtIn(bytes: Uint8Array, start: number): number {
  if (!isName(bytes, start) || !isName(bytes, start + 4)) return Number.NaN;
  if (bytes[start + 3] !== SPACE || bytes[start + 7] !== SPACE || bytes[start + 10] !== SPACE)
    return Number.NaN;
  if (bytes[start + 13] !== COLON || bytes[start + 16] !== COLON) return Number.NaN;
  if (!isTextAt(bytes, ZONE, start + 19)) return Number.NaN;
  const month = monthIn(bytes, start + 4);
  const day = digitsIn(bytes, start + 8, 2);
  const hour = digitsIn(bytes, start + 11, 2);
  const minute = digitsIn(bytes, start + 14, 2);
  const second = digitsIn(bytes, start + 17, 2);
  const year = digitsIn(bytes, start + 26, 4);
  const isValid =
    month >= 0 && day >= 1 && day <= DAYS[month]! && hour < 24 && minute < 60 && second < 60;
  return isValid && year >= 1000 ? Date.UTC(year, month, day, hour, minute, second) : Number.NaN;
}

/**
 * Parses a time such as `2018-10-10T20:19:24.000Z` from the 24 bytes at `start`, without creating a string.
 * Returns epoch milliseconds. Returns `NaN` for anything else, including some times that `parseIsoTime`
 * accepts: other notations, 29 February and years before 1000.
 */
export function isoTimeIn(bytes: Uint8Array, start: number): number {
  for (let mark = 0; mark < ISO_MARKS.length; mark++)
    if (bytes[start + ISO_PLACES[mark]!] !== ISO_MARKS[mark]) return Number.NaN;
  const year = digitsIn(bytes, start, 4);
  const month = digitsIn(bytes, start + 5, 2);
  const day = digitsIn(bytes, start + 8, 2);
  const hour = digitsIn(bytes, start + 11, 2);
  const minute = digitsIn(bytes, start + 14, 2);
  const second = digitsIn(bytes, start + 17, 2);
  const ms = digitsIn(bytes, start + 20, 3);
  const isDay =
    month >= 1 && month <= 12 && day >= 1 && day <= (month === 2 ? 28 : DAYS[month - 1]!);
  const isValid = isDay && hour < 24 && minute < 60 && second < 60 && ms >= 0;
  return isValid && year >= 1000
    ? Date.UTC(year, month - 1, day, hour, minute, second, ms)
    : Number.NaN;
}

/**
 * Parses a time such as `2018-10-10T20:19:24.000Z`. Returns epoch milliseconds, or `NaN` for any other
 * format.
 */
export function parseIsoTime(text: string): number {
  return ISO.test(text) ? Date.parse(text) : Number.NaN;
}

function twoDigits(text: string, at: number): number {
  return text.charCodeAt(at) * 10 + text.charCodeAt(at + 1) - 0x30 * 11;
}

function isName(bytes: Uint8Array, start: number): boolean {
  const first = bytes[start]!;
  const isCapital = first >= 0x41 && first <= 0x5a;
  return isCapital && isSmallLetter(bytes[start + 1]!) && isSmallLetter(bytes[start + 2]!);
}

function monthIn(bytes: Uint8Array, start: number): number {
  for (let month = 0; month < 12; month++)
    if (
      bytes[start] === MONTHS.charCodeAt(3 * month) &&
      bytes[start + 1] === MONTHS.charCodeAt(3 * month + 1) &&
      bytes[start + 2] === MONTHS.charCodeAt(3 * month + 2)
    )
      return month;
  return -1;
}
