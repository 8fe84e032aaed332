import { expect, test } from 'vitest';
import { Activity } from '../../src/post/activity.js';
import { compileRules } from '../../src/rules/index/compile-rules.js';
import { checkRule } from '../../src/rules/language/check-rule.js';
import { tokenise } from '../../src/rules/post/tokeniser.js';

const TEXTS: Record<string, (length: number) => string> = {
  'one mark over and over': length => `a${'\u0301'.repeat(length)}`,
  'marks that sorting moves': length => `a${'\u0301\u0323'.repeat(length / 2)}`,
  'marks of a script without capitals': length => 'ก'.concat('\u0e38'.repeat(length)),
  'letters beyond the basic plane': length => '𐐷'.repeat(length / 2),
  'the tail of a flag': length => `🏴${'\u{e0061}'.repeat(length / 2)}`,
  'endings of one syllable of Hangul': length => `\u1100${'\u1161'.repeat(length)}`,
  keycaps: length => '1\ufe0f\u20e3'.repeat(length / 3),
  'emoji joined to one': length => '👩\u200d'.repeat(length / 3),
  'halves of flags': length => '🇩'.repeat(length / 2),
};

test.each(Object.entries(TEXTS))('matching a string of %s takes linear time', (_, textOf) => {
  expectLinear(3_000, length => {
    const text = textOf(length);
    return () => [tokenise(text, 'kept'), tokenise(text, 'stripped')];
  });
});

test('matching a post that consists of combining marks takes linear time, even with many rules', () => {
  const matcher = compileRules([{ value: '"a b" c' }, { value: 'contains:"a\u0301"' }]);
  expectLinear(3_000, length => {
    const raw = { created_at: '', id_str: '1', text: `a${'\u0301\u0323'.repeat(length / 2)}` };
    const activity = new Activity(Buffer.from(JSON.stringify(raw)));
    return () => matcher.match(activity);
  });
});

const RULES: Record<string, (length: number) => string> = {
  'marks on one letter': TEXTS['one mark over and over'] as (length: number) => string,
  'groups in groups of stop words': length => nested('(the ', 'the ', length),
  'groups in groups of operators that may not stand alone': length =>
    nested('(is:reply ', 'is:reply ', length),
  'negations in negations': length => nested('-(-a ', '-a ', length),
  'alternatives in alternatives': length => nested('(the OR ', 'the OR ', length),
};

test.each(Object.entries(RULES))('checking a rule of %s takes linear time', (_, ruleOf) => {
  expectLinear(1_200, length => {
    const rule = ruleOf(length);
    return () => checkRule(rule, { product: 'search' });
  });
});

function nested(open: string, inner: string, length: number): string {
  const groups = Math.floor(length / 2 / open.length);
  return `${open.repeat(groups)}${inner.repeat(length / 2 / inner.length)}a${')'.repeat(groups)}`;
}

/**
 * Expects that input of eight times the length takes less than 24 times as long. Quadratic work
 * would take 64 times as long. Uses the fastest runs and the lowest ratio. Measures CPU time,
 * because a busy machine delays long work more than short work.
 */
function expectLinear(length: number, prepare: (length: number) => () => unknown): void {
  const short = prepare(length);
  const long = prepare(8 * length);
  let ratio = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 5 && ratio >= 24; attempt++)
    ratio = Math.min(ratio, fastest(long) / fastest(short));
  expect(ratio).toBeLessThan(24);
}

function fastest(work: () => unknown): number {
  const times = Array.from({ length: 4 }, () => {
    const started = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(started);
    return user + system;
  });
  return Math.min(...times);
}
