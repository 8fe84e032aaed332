import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { Activity } from '../../src/post/activity.js';
import { compileRules } from '../../src/rules/index/compile-rules.js';
import { checkRule } from '../../src/rules/language/check-rule.js';
import { parseRule } from '../../src/rules/language/parse-rule.js';
import { compileRule } from '../../src/rules/match/compile-rule.js';
import { postTerms } from '../../src/rules/operators/post-terms.js';
import { rulePost } from '../../src/rules/post/rule-post.js';

/** A folder of published posts. Without it, these tests are skipped. */
const folder = process.env.MILLRACE_REAL_DATA ?? '';

function posts(file: string): Activity[] {
  return lines(`posts/${file}.jsonl`).map(line => new Activity(Buffer.from(line)));
}

function lines(file: string): string[] {
  return readFileSync(path.join(folder, file), 'utf8').trim().split('\n');
}

describe.skipIf(folder === '')('real posts (needs MILLRACE_REAL_DATA)', () => {
  it.each(['search', 'historical'] as const)(
    'have the same index terms in both formats, for %s',
    product => {
      const streams = new Map(posts('activity-tweet-parser').map(post => [post.id, post]));
      for (const original of posts('original-tweet-parser')) {
        const other = streams.get(original.id);
        if (other === undefined) continue;
        expect([...postTerms(rulePost(other, product))].sort()).toEqual(
          [...postTerms(rulePost(original, product))].sort(),
        );
      }
      expect(streams.size).toBe(11);
    },
  );

  it('match the rules that the service lists in their matching_rules', () => {
    const claims = ['activity-gnacs', 'activity-gnip4j'].flatMap(file =>
      posts(file).flatMap(post => post.matchingRules.map(({ value }) => ({ post, value }))),
    );
    const answers = claims.map(({ post, value }) => {
      const { tree } = parseRule(value ?? '');
      return { value, matches: tree !== undefined && compileRule(tree)(post) };
    });
    expect(answers.length).toBeGreaterThan(20);
    expect(answers.filter(({ matches }) => !matches)).toEqual([]);
  });

  it('match many real rules compiled together as they match each rule alone', () => {
    const rules = lines('rules.jsonl').flatMap(line => {
      const { value } = JSON.parse(line) as { value: string };
      const { tree } = checkRule(value, { product: 'historical' });
      return tree === undefined ? [] : [{ value, tree }];
    });
    expect(rules.length).toBeGreaterThan(15);
    const matcher = compileRules(rules.map(({ value }, i) => ({ value, id: String(i) })));
    for (const file of ['activity-gnacs', 'original-simdjson', 'original-tweet-parser'])
      for (const post of posts(file)) {
        const alone = rules.flatMap(({ tree }, i) => (compileRule(tree)(post) ? [String(i)] : []));
        expect(matcher.match(post).map(rule => rule.id)).toEqual(alone);
      }
  });
});
