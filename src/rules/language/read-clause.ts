import { COLON, QUOTE } from '../../json/byte-codes.js';
import { deprecatedOperators } from '../operators/deprecated-operators.js';
import { operatorNames, operators } from '../operators/operators.js';
import type { OperatorName, TextClause } from '../tree.js';
import { readValue } from './read-value.js';
import { CLOSE_BRACKET, type Leaf, OPEN_BRACKET, type RuleReader, UNDERSCORE } from './reader.js';
import { isWordStart, startsWord, wordEnd } from './rule-characters.js';
import {
  badInput,
  cannotParse,
  error,
  explicitAnd,
  quoting,
  shorten,
  suggest,
  unavailable,
  unknownField,
} from './syntax-problems.js';

/**
 * Reads one clause. The clause may start with anything except white space, a parenthesis or `OR`. Text that
 * cannot be read is reported and skipped.
 */
export function readClause(reader: RuleReader): Leaf {
  const { text, at: start, unit } = reader;
  if (startsWord(text, start)) return readWord(reader);
  if (unit === QUOTE) return readPhrase(reader);
  const prefixed = PREFIXES.get(unit);
  if (prefixed !== undefined && isNameStart(text.charCodeAt(start + 1)))
    return readPrefixed(reader, prefixed);
  if (unit === OPEN_BRACKET || unit === CLOSE_BRACKET) return skipBracket(reader);
  if (unit === COLON) {
    refuseColon(reader, start, 'an operator needs a name');
  } else {
    reader.skipBadCharacter();
  }
  return reader.unread(start);
}

/** The maximum distance that a proximity operator such as `"a b"~6` may have, in tokens. */
const MAX_DISTANCE = 6;

const PREFIXES: ReadonlyMap<number, TextClause['kind']> = new Map([
  [0x23, 'hashtag'],
  [0x40, 'mention'],
  [0x24, 'cashtag'],
]);
const TILDE = 0x7e;

/**
 * Returns whether a handle or hashtag may start with this unit. Unlike a word, it may start with an
 * underscore.
 */
function isNameStart(unit: number): boolean {
  return isWordStart(unit) || unit === UNDERSCORE;
}

function readWord(reader: RuleReader): Leaf {
  const { text, at: start } = reader;
  const end = wordEnd(text, start + 1);
  reader.at = end;
  if (text.charCodeAt(end) === COLON) return readOperator(reader, start);
  const word = text.slice(start, end);
  if (word === 'AND') reader.report(explicitAnd(text, { start, end }));
  return { kind: 'keyword', text: word, start, end };
}

function readPrefixed(reader: RuleReader, kind: TextClause['kind']): Leaf {
  const { text, at: start } = reader;
  const end = wordEnd(text, start + 2);
  reader.at = end;
  if (text.charCodeAt(end) === COLON) return skipColon(reader, start);
  return { kind, text: text.slice(start + 1, end), start, end };
}

function readPhrase(reader: RuleReader): Leaf {
  const start = reader.at;
  const text = reader.readQuoted();
  if (text === undefined) return reader.unread(start);
  if (text.trim() === '') {
    const span = { start, end: reader.at };
    reader.report(cannotParse(span, reader.text.slice(start, reader.at), 'a phrase needs words'));
    return reader.unread(start);
  }
  if (reader.unit === TILDE) return readProximity(reader, start, text);
  if (reader.unit === COLON) return skipColon(reader, start);
  return { kind: 'phrase', text, start, end: reader.at };
}

function readProximity(reader: RuleReader, start: number, text: string): Leaf {
  const tilde = reader.at;
  reader.at = wordEnd(reader.text, tilde + 1);
  const end = reader.at;
  const digits = reader.text.slice(tilde + 1, end);
  if (!/^\d+$/.test(digits)) {
    const span = { start: tilde, end };
    const fix = suggest('remove it', span, '');
    const explanation = `\`~\` needs a number from 1 to ${MAX_DISTANCE}`;
    reader.report(cannotParse(span, `~${digits}`, explanation, fix));
    return reader.unread(start);
  }
  const distance = Number(digits);
  if (distance >= 1 && distance <= MAX_DISTANCE)
    return { kind: 'proximity', text, distance, start, end };
  const nearest = String(Math.min(Math.max(distance, 1), MAX_DISTANCE));
  const span = { start: tilde + 1, end };
  reader.report(
    error(
      'R021',
      span,
      `Proximity must be between 1 and ${MAX_DISTANCE}`,
      `words may be 1 to ${MAX_DISTANCE} tokens apart, not ${shorten(digits)}`,
      { suggestion: suggest(`use \`~${nearest}\``, span, nearest) },
    ),
  );
  return reader.unread(start);
}

function skipColon(reader: RuleReader, start: number): Leaf {
  refuseColon(reader, start, 'a colon may only follow the name of an operator');
  return reader.unread(start);
}

/**
 * Reports the colon at the reader's position, and skips the clause. If possible, suggests quotes around the
 * text from `start` on.
 */
function refuseColon(reader: RuleReader, start: number, explanation: string): void {
  const colon = reader.at;
  reader.skipRun();
  const fix = quoting(reader.text, { start, end: reader.at });
  reader.report(cannotParse({ start: colon, end: colon + 1 }, ':', explanation, fix));
}

function skipBracket(reader: RuleReader): Leaf {
  const { text, at: start, unit } = reader;
  reader.at++;
  if (unit === CLOSE_BRACKET && reader.openBrackets > 0) {
    reader.openBrackets--;
    return reader.unread(start);
  }
  if (unit === OPEN_BRACKET) reader.openBrackets++;
  const bracket = text[start]!;
  const span = { start, end: start + 1 };
  reader.report(
    badInput(span, bracket, 'only the operators of places take brackets; groups take parentheses'),
  );
  return reader.unread(start);
}

/** Reads an operator whose name starts at `start`. The reader must be at the colon after the name. */
function readOperator(reader: RuleReader, start: number): Leaf {
  const { text, at: colon } = reader;
  const written = text.slice(start, colon);
  const name = operatorNames.get(written);
  if (name !== undefined) return readNamed(reader, start, name);
  if (deprecatedOperators.has(written)) return readDeprecated(reader, start, written);
  if (!/^[A-Za-z_]\w*$/.test(written)) return skipColon(reader, start);
  reader.skipRun();
  reader.report(unknownField(text, { start, end: colon }, { start, end: reader.at }));
  return reader.unread(start);
}

function readNamed(reader: RuleReader, start: number, name: OperatorName): Leaf {
  reader.at++;
  const valueStart = reader.at;
  const value = readValue(reader, name, operators[name].value);
  if (reader.unit === COLON && reader.at > valueStart) {
    refuseColon(reader, valueStart, 'a value with a colon needs quotes');
    return reader.unread(start, name);
  }
  if (value === undefined) return reader.unread(start, name);
  // The cast is safe, because the value was read as the kind that the operator table gives for `name`.
  return { kind: 'operator', name, value, start, end: reader.at } as Leaf;
}

function readDeprecated(reader: RuleReader, start: number, written: string): Leaf {
  const replacement = deprecatedOperators.get(written);
  const span = { start, end: reader.at };
  if (replacement === undefined) {
    const explanation = `\`${written}:\` was removed in version 2.0, without a replacement`;
    reader.report(error('R016', span, unavailable(written), explanation));
    reader.skipRun();
    return reader.unread(start);
  }
  const explanation = `\`${written}:\` was replaced by \`${replacement}:\` in version 2.0`;
  const suggestion = suggest(`use \`${replacement}:\``, span, replacement, true);
  reader.report(error('R016', span, unavailable(written), explanation, { suggestion }));
  return readNamed(reader, start, replacement);
}
