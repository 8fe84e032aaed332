import { expect, test } from 'vitest';
import { MINUTE } from '../../../src/base/time.js';
import { postTerms } from '../../../src/rules/operators/post-terms.js';
import { rulePost } from '../../../src/rules/post/rule-post.js';
import { seedOf } from '../../../src/service/sample/random.js';
import { SampleDrafts } from '../../../src/service/sample/sample-draft.js';
import { renderActivity } from '../../../src/service/sample/sample-posts.js';
import { SampleTerms } from '../../../src/service/sample/sample-terms.js';

test('terms derived from a draft are those of the post, in either format', () => {
  const drafts = new SampleDrafts(seedOf('millrace'), 60);
  const terms = new SampleTerms(drafts);
  for (const year of [2006, 2008, 2010, 2011, 2013, 2016, 2018, 2023, 2027]) {
    const minute = Date.UTC(year, 4, 1, year % 24) / MINUTE;
    for (let index = 0; index < 60; index++) {
      const draft = drafts.draft(minute, index);
      const numbers: number[] = [];
      terms.collect(draft, numbers);
      for (const format of ['original', 'activity_streams'] as const) {
        const expected = postTerms(rulePost(renderActivity(draft, drafts, format), 'search'));
        const found = new Set(numbers);
        const left = new Set(numbers);
        for (const term of expected) {
          const known = terms.numbersOf(term);
          expect(
            known.some(number => found.has(number)),
            `${term} of ${draft.kind}`,
          ).toBe(true);
          for (const number of known) left.delete(number);
        }
        expect([...left], `${draft.kind} has terms that the post lacks`).toEqual([]);
      }
    }
  }
});
