import { BACKSLASH, COLON, COMMA, LF, QUOTE } from '../json/json-bytes.js';

/** The start of a post of the original format, without the values. */
const TIME_KEY = Buffer.from('{"created_at"');
const NUMBER_KEY = Buffer.from('"id"');
const ID_KEY = Buffer.from('"id_str"');
const SPACE = 0x20;
/** Length of `Wed Oct 10 20:19:24 +0000 2018`. */
const TIME = 30;

/**
 * The id of a post whose first members are `created_at`, a number `id` and `id_str`, which is how the service
 * prints the original format. One space may follow each colon and comma, as many JSON libraries print it.
 * `undefined` for any other document.
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
  let at = afterToken(json, COLON, afterText(json, TIME_KEY, start));
  if (at === -1 || json[at++] !== QUOTE) return -1;
  for (const end = at + TIME; at < end; at++) {
    const byte = json[at];
    if (byte === QUOTE || byte === BACKSLASH || byte === LF) return -1;
  }
  if (json[at++] !== QUOTE) return -1;
  at = afterText(json, NUMBER_KEY, afterToken(json, COMMA, at));
  const number = afterToken(json, COLON, at);
  const afterNumber = afterDigits(json, number);
  if (number === -1 || afterNumber === number) return -1;
  at = afterText(json, ID_KEY, afterToken(json, COMMA, afterNumber));
  at = afterToken(json, COLON, at);
  if (at === -1 || json[at++] !== QUOTE) return -1;
  const end = afterDigits(json, at);
  return end > at && json[end] === QUOTE ? at : -1;
}

/** The position after a text at `start`, or -1 if the bytes differ or `start` is -1. */
function afterText(json: Buffer, text: Buffer, start: number): number {
  if (start === -1) return -1;
  for (let at = 0; at < text.length; at++) if (json[start + at] !== text[at]) return -1;
  return start + text.length;
}

/** The position after a colon or comma and a space, which may be absent; -1 for any other byte. */
function afterToken(json: Buffer, token: number, at: number): number {
  if (at === -1 || json[at] !== token) return -1;
  return json[at + 1] === SPACE ? at + 2 : at + 1;
}

function afterDigits(json: Buffer, start: number): number {
  let at = start;
  for (let byte = json[at] as number; byte >= 0x30 && byte <= 0x39; ) byte = json[++at] as number;
  return at;
}
