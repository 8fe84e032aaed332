import fc from 'fast-check';
import stringWidth from 'string-width';
import { expect, test } from 'vitest';
import { checkRule } from '../../../src/rules/language/check-rule.js';
import { renderProblem } from '../../../src/rules/language/render-problem.js';
import { codePoint } from '../../code-point.js';
import { bySuite } from '../../suite.js';

function drawn(text: string): string {
  const { problems } = checkRule(text, { product: 'replay' });
  return problems.map(problem => renderProblem(text, problem)).join('\n');
}

test('renderProblem shows the position of an error, its suggestion and the accepted values', () => {
  expect(drawn('cat (dog OR has:vidoes)')).toBe(
    [
      'error[R014]: unknown value `vidoes` for `has:`',
      '  | cat (dog OR has:vidoes)',
      '  |                 ^^^^^^ did you mean `videos`?',
      '  = allowed: geo, hashtags, images, links, media, mentions, profile_geo, symbols, videos',
    ].join('\n'),
  );
});

test('renderProblem marks the opening parenthesis of an unclosed group', () => {
  expect(drawn('cat (dog')).toBe(
    [
      'error[R006]: a group is not closed',
      '  | cat (dog',
      '  |     -   ^ add `)`',
      '  |     opened here',
    ].join('\n'),
  );
});

test('renderProblem counts two columns for a wide character, and one for any other character', () => {
  expect(drawn('雪\t🍕 "a\u0007e\u0301" h:x').split('\n').slice(1)).toEqual([
    '  | 雪 🍕 "a\ufffde\u0301" h:x',
    '  |             ^ to match the text itself, quote it: `"h:x"`',
  ]);
});

test('renderProblem shows only the affected line of a multi-line rule, with its number', () => {
  expect(drawn('cat\n(dog OR\nh:x)').split('\n').slice(1)).toEqual([
    '3  | h:x)',
    '   | ^ to match the text itself, quote it: `"h:x"`',
  ]);
});

test('renderProblem shows only the part of a long rule around the problem', () => {
  const rows = drawn(`${'cat '.repeat(200)}h:x ${'dog '.repeat(200)}`).split('\n');
  expect(rows[1]).toMatch(/^ {2}\| ….{80,100}…$/);
  expect(rows[1]?.indexOf('h:x')).toBe(rows[2]?.indexOf('^'));
});

test('renderProblem marks the end of an empty rule with a caret', () => {
  expect(drawn('')).toBe('error[R005]: the rule is empty\n  |\n  | ^');
});

test('renderProblem limits the width of its lines for any rule, and always prints a caret', () => {
  fc.assert(
    fc.property(fc.string({ unit: codePoint, maxLength: 300 }), text => {
      for (const problem of checkRule(text, { product: 'replay' }).problems) {
        const [, rule = '', carets = ''] = renderProblem(text, problem).split('\n');
        expect(stringWidth(rule)).toBeLessThan(115);
        expect(carets.lastIndexOf('^')).toBeLessThan(115);
        expect(carets).toContain('^');
      }
    }),
    { numRuns: bySuite(38, 2_000) },
  );
});
