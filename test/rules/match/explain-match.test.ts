import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OptionError } from '../../../src/base/errors.js';
import { Activity } from '../../../src/post/activity.js';
import { compileRule } from '../../../src/rules/match/compile-rule.js';
import {
  type Explanation,
  explainMatch,
  renderExplanation,
} from '../../../src/rules/match/explain-match.js';
import { bySuite } from '../../suite.js';
import { acceptedRule } from '../arbitrary-rule.js';
import { arbitraryDraft, IDS, original, USERS, WORDS } from './arbitrary-matching-post.js';

const snow = new Activity(
  Buffer.from('{"created_at":"Wed Oct 10 20:19:24 +0000 2018","id_str":"1","text":"deep snow"}'),
);

describe('explainMatch', () => {
  it('marks the clauses that make an AND fail', () => {
    const explanation = explainMatch('snow (has:images OR from:karl)', snow);
    expect(renderExplanation(explanation)).toBe(
      [
        'no   snow (has:images OR from:karl)',
        '  yes  snow',
        '> no   has:images OR from:karl',
        '>   no   has:images',
        '>   no   from:karl',
      ].join('\n'),
    );
  });

  it('marks the branch that makes an OR match', () => {
    expect(renderExplanation(explainMatch('rain OR "deep snow"', snow))).toBe(
      ['yes  rain OR "deep snow"', '  no   rain', '> yes  "deep snow"'].join('\n'),
    );
  });

  it('explains the parts of a negated group', () => {
    expect(renderExplanation(explainMatch('snow -(deep rain)', snow))).toBe(
      [
        'yes  snow -(deep rain)',
        '> yes  snow',
        '> yes  -(deep rain)',
        '>   no   deep rain',
        '      yes  deep',
        '>     no   rain',
      ].join('\n'),
    );
  });

  it('returns an explanation without parts for a rule of one clause', () => {
    expect(explainMatch('snow', snow)).toEqual({
      text: 'snow',
      matched: true,
      decided: true,
      parts: [],
    });
  });

  it('throws an OptionError for a rule that the product does not accept', () => {
    expect(() => explainMatch('-snow', snow)).toThrow(OptionError);
    expect(() => explainMatch('contains:snow', snow, { product: 'search' })).toThrow(
      '"contains:snow"',
    );
  });

  it('agrees with compileRule, and marks enough clauses to decide the match', () => {
    fc.assert(
      fc.property(
        acceptedRule('historical', { words: WORDS, users: USERS, ids: IDS }),
        arbitraryDraft(),
        ({ text, tree }, draft) => {
          const activity = original(draft);
          const explanation = explainMatch(text, activity);
          expect(explanation.matched).toBe(compileRule(tree)(activity));
          expect(explanation.text).toBe(text.slice(tree.start, tree.end));
          everyPart(explanation, part => {
            if (part.parts.length > 0)
              expect(part.parts.some(inner => inner.decided)).toBe(part.decided);
          });
        },
      ),
      { numRuns: bySuite(25, 1_200) },
    );
  });
});

function everyPart(explanation: Explanation, check: (part: Explanation) => void): void {
  check(explanation);
  for (const part of explanation.parts) everyPart(part, check);
}
