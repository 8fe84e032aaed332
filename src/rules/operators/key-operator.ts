import type { Dialect } from '../post/dialect.js';
import { fold } from '../post/tokeniser.js';
import {
  exactTerm,
  type OperatorOptions,
  type ReadKeys,
  type RuleOperator,
  specOf,
  type ValueKind,
} from './operator.js';

interface KeyOptions extends OperatorOptions {
  /** The values of a post, in the form for comparison. */
  readonly keys: ReadKeys;
  /** Converts the rule's value to that form. @default the value itself */
  readonly keyOf?: (value: string, dialect: Dialect) => string;
  /** A guess of the share of posts with one key, 0 to 1. */
  readonly frequency: number;
}

/** An operator that tests whether its value equals one of the post's values. */
export function keyOperator(
  value: ValueKind,
  about: string,
  { keys, keyOf = same, frequency, ...options }: KeyOptions,
): RuleOperator<string> {
  return {
    ...specOf(value, about, options),
    test(text, dialect) {
      const key = keyOf(text, dialect);
      return ({ fields }) => keys(fields, dialect).includes(key);
    },
    terms: (text, dialect, prefix) => exactTerm(prefix + keyOf(text, dialect)),
    index: { kind: 'keys', keys },
    frequency: () => frequency,
  };
}

export function lowerCase(value: string): string {
  return value.toLowerCase();
}

export function upperCase(value: string): string {
  return value.toUpperCase();
}

/** Applications are compared by their whole name or link, the link without protocol and last slash. */
export function sourceKey(source: string, { accents }: Dialect): string {
  return fold(source, accents)
    .trim()
    .replace(/^https?:\/\//, '')
    .replace(/\/$/, '');
}

function same(value: string): string {
  return value;
}
