import { deprecatedOperators } from '../operators/deprecated-operators.js';
import { operatorNames, operators } from '../operators/operators.js';
import type { OperatorName } from '../tree.js';
import { readValue } from './read-value.js';
import { COLON, type Leaf, type Reader } from './reader.js';
import { cannotParse, quoting, unknownField } from './syntax-problems.js';
import { deprecated } from './value-problems.js';

/** Continues at the colon after the word that starts at `start`. */
export function readOperator(reader: Reader, start: number): Leaf {
  const { text, at: colon } = reader;
  const written = text.slice(start, colon);
  const name = operatorNames.get(written);
  if (name !== undefined) return readNamed(reader, start, name);
  if (deprecatedOperators.has(written)) return readDeprecated(reader, start, written);
  reader.skipRun();
  const whole = { start, end: reader.at };
  if (/^[A-Za-z_]\w*$/.test(written)) {
    reader.report(unknownField(text, { start, end: colon }, whole));
  } else {
    reader.report(
      cannotParse(
        { start: colon, end: colon + 1 },
        ':',
        'a colon may only follow the name of an operator',
        quoting(text, whole),
      ),
    );
  }
  return reader.unread(start);
}

function readNamed(reader: Reader, start: number, name: OperatorName): Leaf {
  reader.at++;
  const valueStart = reader.at;
  const value = readValue(reader, name, operators[name].value);
  const colon = reader.at;
  if (reader.unit === COLON && colon > valueStart) {
    reader.skipRun();
    reader.report(
      cannotParse(
        { start: colon, end: colon + 1 },
        ':',
        'a value with a colon needs quotes',
        quoting(reader.text, { start: valueStart, end: reader.at }),
      ),
    );
    return reader.unread(start, name);
  }
  if (value === undefined) return reader.unread(start, name);
  // The value was read as the kind that the table gives for the name.
  return { kind: 'operator', name, value, start, end: reader.at } as Leaf;
}

function readDeprecated(reader: Reader, start: number, written: string): Leaf {
  const replacement = deprecatedOperators.get(written);
  const span = { start, end: reader.at };
  reader.report(deprecated(written, span, replacement));
  if (replacement !== undefined) return readNamed(reader, start, replacement);
  reader.skipRun();
  return reader.unread(start);
}
