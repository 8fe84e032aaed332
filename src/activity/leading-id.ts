import { BACKSLASH, LF, QUOTE } from '../json/json-bytes.js';

/** The start of a post of the original format as the service prints it, without time and ids. */
const BEFORE_TIME = Buffer.from('{"created_at":"');
const AFTER_TIME = Buffer.from('","id":');
const BEFORE_ID = Buffer.from(',"id_str":"');
/** Length of `Wed Oct 10 20:19:24 +0000 2018`. */
const TIME = 30;

/**
 * The id of a post whose first members are `created_at`, a number `id` and `id_str`, without white
 * space, which is how the service prints the original format. `undefined` for any other document.
 */
export function leadingId(json: Buffer): string | undefined {
  const start = leadingIdStart(json);
  return start === -1 ? undefined : json.toString('latin1', start, afterDigits(json, start));
}

/**
 * The position of the digits of `leadingId` in a document that starts here, or -1. A quote follows them. It
 * reads no further than the line.
 */
export function leadingIdStart(json: Buffer, start = 0): number {
  let at = afterText(json, BEFORE_TIME, start);
  if (at === -1) return -1;
  for (const end = at + TIME; at < end; at++) {
    const byte = json[at];
    if (byte === QUOTE || byte === BACKSLASH || byte === LF) return -1;
  }
  at = afterText(json, AFTER_TIME, at);
  if (at === -1) return -1;
  const afterNumber = afterDigits(json, at);
  if (afterNumber === at) return -1;
  at = afterText(json, BEFORE_ID, afterNumber);
  if (at === -1) return -1;
  const end = afterDigits(json, at);
  return end > at && json[end] === QUOTE ? at : -1;
}

/** The position after a text at `start`, or -1 if the bytes differ. */
function afterText(json: Buffer, text: Buffer, start: number): number {
  for (let at = 0; at < text.length; at++) if (json[start + at] !== text[at]) return -1;
  return start + text.length;
}

function afterDigits(json: Buffer, start: number): number {
  let at = start;
  for (let byte = json[at] as number; byte >= 0x30 && byte <= 0x39; ) byte = json[++at] as number;
  return at;
}
