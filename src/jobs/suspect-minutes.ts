import { DataError, HttpError } from '../errors.js';
import type { Account } from '../http/account.js';
import { urlForMessages } from '../http/http-message.js';
import { readText } from '../http/read-json.js';
import { request } from '../http/request.js';
import { parseExact } from '../json/exact-json.js';
import { excerpt } from '../json/excerpt.js';
import { formatTimestamp, parseTimestamp } from '../time.js';

/**
 * The minutes of a job that may be incomplete, as `YYYYMMDDHHMM`. The service does not document the
 * format of the list, so any JSON with dates in it is accepted, and lines of dates.
 */
export async function readSuspectMinutes(
  account: Account,
  address: string,
  signal?: AbortSignal,
): Promise<string[]> {
  if (!URL.canParse(address))
    throw new DataError(
      `The address of the suspect minutes is not a URL: ${JSON.stringify(address)}`,
    );
  const url = new URL(address);
  try {
    const text = await request(
      account,
      { method: 'GET', url, family: 'jobReads', signal },
      readText,
    );
    const words = stringsIn(parsed(text));
    const minutes = words.map(minuteOf).filter(minute => minute !== undefined);
    if (words.length > 0 && minutes.length === 0)
      throw new DataError(`The list of suspect minutes has no dates: ${excerpt(text)}`, {
        position: { origin: urlForMessages(url) },
      });
    return [...new Set(minutes)].sort();
  } catch (error) {
    if (error instanceof HttpError && error.status === 404) return [];
    throw error;
  }
}

function parsed(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return text.split(/[\s,]+/).filter(word => word !== '');
  }
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number') return [String(value)];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

function minuteOf(text: string): string | undefined {
  if (parseTimestamp(text) !== undefined) return text;
  const ms = /^\d{4}-\d{2}-\d{2}T/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : formatTimestamp(ms);
}
