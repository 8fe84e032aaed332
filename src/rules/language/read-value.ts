import { deprecatedHasValues } from '../operators/deprecated-operators.js';
import { hasAliases, hasValues, isValues } from '../operators/flag-operators.js';
import type { ValueKind } from '../operators/operator.js';
import type { HasValue, IsValue, OperatorName, OperatorValues, Span } from '../tree.js';
import { countryCodes, languageCodes } from './iso-codes.js';
import { readBox, readRadius } from './read-geo.js';
import { CLOSE, OPEN, QUOTE, type RuleReader } from './reader.js';
import { isSpace, startsWord, wordEnd } from './rule-characters.js';
import { badInput } from './syntax-problems.js';
import {
  badCount,
  badCountry,
  badId,
  badLanguage,
  badPercent,
  deprecatedHas,
  emptyRange,
  misplacedSymbol,
  unknownValue,
} from './value-problems.js';

type Value = OperatorValues[OperatorName];

/** Reads the value after `name:`. Reports a value that cannot be read and returns `undefined`. */
export function readValue(
  reader: RuleReader,
  name: OperatorName,
  kind: ValueKind,
): Value | undefined {
  if (kind === 'radius' || kind === 'box') {
    if (isMissing(reader, name)) return undefined;
    return kind === 'radius' ? readRadius(reader, name) : readBox(reader, name);
  }
  const start = reader.at;
  const written = readPlain(reader, name, kind);
  if (written === undefined) return undefined;
  return convert(reader, kind, written, { start, end: reader.at });
}

function convert(
  reader: RuleReader,
  kind: ValueKind,
  written: string,
  span: Span,
): Value | undefined {
  switch (kind) {
    case 'id':
      if (/^\d+$/.test(written)) return written;
      return reader.report(badId(written, span));
    case 'count':
      return toCount(reader, written, span);
    case 'percent': {
      const percent = /^\d+$/.test(written) ? Number(written) : 0;
      if (percent >= 1 && percent <= 100) return percent;
      return reader.report(badPercent(written, span));
    }
    case 'language': {
      const code = written.toLowerCase();
      if (languageCodes.has(code)) return code;
      return reader.report(badLanguage(written, span));
    }
    case 'country': {
      const code = written.toUpperCase();
      if (countryCodes.has(code)) return code;
      return reader.report(badCountry(written, span));
    }
    case 'is': {
      const value = written.toLowerCase() as IsValue;
      if (isValues.includes(value)) return value;
      return reader.report(unknownValue('is', written, span, isValues));
    }
    case 'has': {
      const lower = written.toLowerCase();
      const value = hasAliases.get(lower) ?? (lower as HasValue);
      if (hasValues.includes(value)) return value;
      if (deprecatedHasValues.has(lower))
        return reader.report(deprecatedHas(reader.text, lower, span));
      return reader.report(
        unknownValue('has', written, span, [...hasValues, ...hasAliases.keys()]),
      );
    }
    default:
      return written;
  }
}

function toCount(
  reader: RuleReader,
  written: string,
  span: Span,
): OperatorValues['listed_count'] | undefined {
  const parts = /^(\d+)(?:\.\.(\d+))?$/.exec(written);
  if (parts === null) return reader.report(badCount(written, span));
  const min = Number(parts[1]);
  const max = parts[2] === undefined ? undefined : Number(parts[2]);
  if (!Number.isSafeInteger(min) || !Number.isSafeInteger(max ?? 0))
    return reader.report(badCount(written, span));
  if (max === undefined) return { min };
  return max < min ? reader.report(emptyRange(written, span)) : { min, max };
}

/** A word or a quoted text. */
function readPlain(reader: RuleReader, name: OperatorName, kind: ValueKind): string | undefined {
  const { text, at: start } = reader;
  if (isMissing(reader, name)) return undefined;
  const unit = reader.unit;
  if (unit === QUOTE) return readQuotedValue(reader, name);
  if (startsWord(text, start) || (kind === 'user' && unit === UNDERSCORE)) {
    reader.at = wordEnd(text, start + 1);
    return text.slice(start, reader.at);
  }
  if (unit < 0x80 && '$#@-[]'.includes(text[start] as string)) {
    reader.skipRun();
    const span = { start, end: reader.at };
    return reader.report(misplacedSymbol(text, span, name, kind));
  }
  reader.skipBadCharacter();
  reader.skipRun();
  return undefined;
}

function readQuotedValue(reader: RuleReader, name: OperatorName): string | undefined {
  const start = reader.at;
  const value = reader.readQuoted();
  if (value === undefined || value.trim() !== '') return value;
  const span = { start, end: reader.at };
  const input = reader.text.slice(start, reader.at);
  return reader.report(badInput(span, input, `\`${name}:\` needs a value`));
}

function isMissing(reader: RuleReader, name: OperatorName): boolean {
  const { unit } = reader;
  if (!(Number.isNaN(unit) || isSpace(unit) || unit === OPEN || unit === CLOSE)) return false;
  reader.reportEnd(`\`${name}:\` needs a value right after the colon`);
  return true;
}

const UNDERSCORE = 0x5f;
