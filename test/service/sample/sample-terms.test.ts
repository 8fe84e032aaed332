import { expect, test } from 'vitest';
import { MINUTE } from '../../../src/base/time.js';
import { postTerms } from '../../../src/rules/operators/post-terms.js';
import { rulePost } from '../../../src/rules/post/rule-post.js';
import { getOrMake } from '../../../src/service/cache.js';
import { seedOf } from '../../../src/service/sample/random.js';
import { AtomList } from '../../../src/service/sample/sample-atoms.js';
import { SampleDrafts } from '../../../src/service/sample/sample-draft.js';
import { renderActivity } from '../../../src/service/sample/sample-posts.js';
import { SampleTerms } from '../../../src/service/sample/sample-terms.js';

test('SampleTerms returns the index terms of posts in either format without rendering the posts', () => {
  const drafts = new SampleDrafts(seedOf('millrace'), 60);
  const terms = new SampleTerms(drafts);
  const minutes = [2006, 2008, 2010, 2011, 2013, 2016, 2018, 2023, 2027].map(
    year => Date.UTC(year, 4, 1, year % 24) / MINUTE,
  );
  const posts = minutes.flatMap(minute =>
    Array.from({ length: 60 }, (_, index) => drafts.draft(minute, index)),
  );
  const atoms = new AtomList();
  const starts = [0];
  for (const draft of posts) {
    terms.collect(draft, atoms);
    starts.push(atoms.length);
  }
  const index = { starts: new Int32Array(starts), atoms: atoms.take() };
  for (const format of ['original', 'activity_streams'] as const) {
    const expected = new Map<string, number[]>();
    for (const [document, draft] of posts.entries())
      for (const term of postTerms(rulePost(renderActivity(draft, drafts, format), 'search')))
        if (!/^(?:in_reply_to|retweets_of)_status_id:/.test(term))
          getOrMake(expected, term, () => []).push(document);
    for (const [term, documents] of expected) {
      const headAt = (document: number) => posts[document] as (typeof posts)[number];
      const found = terms.find(term, index, headAt);
      expect([...found.members(0, posts.length)], term).toEqual(documents);
    }
  }
});
