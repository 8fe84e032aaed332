import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { applySuggestions } from '../../src/rules/language/apply-suggestions.js';
import { checkRule } from '../../src/rules/language/check-rule.js';
import { printRule } from '../../src/rules/language/print-rule.js';

interface RealRule {
  readonly value: string;
  readonly balanced?: boolean;
}

const folder = process.env.MILLRACE_REAL_DATA;
const product = 'replay';

describe.skipIf(folder === undefined)('real rules (needs MILLRACE_REAL_DATA)', () => {
  const rules: RealRule[] =
    folder === undefined
      ? []
      : readFileSync(join(folder, 'rules.jsonl'), 'utf8')
          .trim()
          .split('\n')
          .map(line => JSON.parse(line) as RealRule);
  const codesOf = (text: string) =>
    checkRule(text, { product })
      .problems.filter(({ severity }) => severity === 'error')
      .map(({ code }) => code);

  test('are invalid exactly if a quote or parenthesis is not closed', () => {
    const told = rules.filter(rule => rule.balanced !== undefined);
    expect(told.length).toBeGreaterThan(0);
    for (const { value, balanced } of told) expect(codesOf(value).length === 0).toBe(balanced);
  });

  test('with operators of version 1.0 are invalid until their suggestions are applied', () => {
    const old = rules.filter(({ value }) => codesOf(value).includes('R016'));
    const mended = old.map(({ value }) =>
      applySuggestions(
        value,
        checkRule(value, { product }).problems.filter(({ code }) => code === 'R016'),
      ),
    );
    const withoutSuccessor = old.filter(({ value }) => value === 'has:profile_geo_subregion');
    expect(mended.filter(text => codesOf(text).length > 0)).toEqual(
      withoutSuccessor.map(({ value }) => value),
    );
    expect(old.length).toBeGreaterThan(withoutSuccessor.length);
  });

  const others = rules.filter(({ balanced }) => balanced === undefined);
  const codesOfOther = (value: string) => codesOf(value).filter(code => code !== 'R016');

  test('with closed quotes and parentheses are valid unless they are too long', () => {
    for (const { value } of others)
      expect(codesOfOther(value), value).toEqual(value.length > 2048 ? ['R001'] : []);
  });

  test('are the same after they are printed and parsed, if they are valid', () => {
    for (const { value } of rules) {
      const { tree } = checkRule(value, { product });
      if (tree === undefined) continue;
      const printed = printRule(tree);
      expect(printRule(checkRule(printed, { product }).tree ?? tree)).toBe(printed);
    }
  });
});
