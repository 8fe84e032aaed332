import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { FileRecords } from '../../src/files/file-records.js';
import { Flow, identityOf } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import type { ProgressCounts } from '../../src/flow/progress.js';
import { POSTS } from '../../src/operators/activities.js';
import { filter } from '../../src/operators/filter.js';
import { MATCHES, matchRules } from '../../src/operators/match-rules.js';
import { Activity } from '../../src/post/activity.js';
import { compileRules } from '../../src/rules/index/compile-rules.js';
import { collect } from '../../src/sinks/collect.js';

function original(id: string, text: string): Activity {
  const json = `{"created_at":"Wed Oct 10 20:19:24 +0000 2018","id":${id},"id_str":"${id}", "text":${JSON.stringify(text)},"matching_rules":[{"tag":"old"}]}`;
  return new Activity(Buffer.from(json));
}

function streams(id: string, body: string): Activity {
  const json = {
    id: `tag:search.twitter.com,2005:${id}`,
    postedTime: '2018-10-10T20:19:24.000Z',
    body,
  };
  return new Activity(Buffer.from(JSON.stringify(json)));
}

const posts = [
  original('1050118621198921728', 'deep snow'),
  original('1050118621198921729', 'rain'),
  streams('1050118621198921730', 'old snow, rain'),
];

function source(): Flow<Activity> {
  return new Flow(async function* () {
    yield { items: posts, cursor: { at: 3 } };
  });
}

const RULES = [
  { value: 'snow', tag: 'white', id: '7800000000000000001' },
  { value: 'rain', tag: 'wet', id: '7800000000000000002' },
];

describe('matchRules', () => {
  it('sets the matching rules of posts in both formats, and keeps all other bytes', async () => {
    const matched = await pipeline(source(), matchRules(RULES), collect());
    expect(matched.map(activity => activity.tags)).toEqual([['white'], ['wet'], ['white', 'wet']]);
    expect(matched.map(activity => activity.id)).toEqual(posts.map(post => post.id));
    expect(matched[0]?.raw.toString()).toBe(
      posts[0]?.raw
        .toString()
        .replace(
          '[{"tag":"old"}]',
          '[{"tag":"white","id":7800000000000000001,"id_str":"7800000000000000001"}]',
        ),
    );
  });

  it('delivers a post that matches no rule with an empty list of matching rules', async () => {
    const matched = await pipeline(source(), matchRules([{ value: 'fog' }]), collect());
    expect(matched).toHaveLength(3);
    expect(matched.flatMap(activity => activity.matchingRules)).toEqual([]);
  });

  it('drops and counts posts that match no rule with `dropUnmatched`', async () => {
    let last: ProgressCounts | undefined;
    const matched = await pipeline(
      source(),
      matchRules([{ value: 'deep' }], { dropUnmatched: true }),
      collect(),
      { progress: counts => (last = counts) },
    );
    expect(matched.map(activity => activity.id)).toEqual(['1050118621198921728']);
    expect(last?.dropped.get('unmatched')).toBe(2);
  });

  it('uses the current rules of a matcher that changes during the run', async () => {
    const matcher = compileRules(RULES);
    const one = new Flow<Activity>(async function* () {
      yield { items: posts.slice(0, 1) };
      matcher.delete([{ id: '7800000000000000001' }]);
      yield { items: posts.slice(0, 1) };
    });
    const matched = await pipeline(one, matchRules(matcher), collect());
    expect(matched.map(activity => activity.tags)).toEqual([['white'], []]);
  });

  it('matches the same posts as a filter() with the same rule', async () => {
    const matcher = compileRules([{ value: 'snow -deep' }]);
    const filtered = await pipeline(
      source(),
      filter(activity => matcher.match(activity).length > 0),
      collect(),
    );
    const matched = await pipeline(
      source(),
      matchRules(matcher, { dropUnmatched: true }),
      collect(),
    );
    expect(matched.map(activity => activity.id)).toEqual(filtered.map(activity => activity.id));
    expect(matched).toHaveLength(1);
  });

  it('sets the matching rules that later steps read from a stored post', () => {
    const content = Buffer.allocUnsafeSlow(posts[1]!.raw.length);
    posts[1]!.raw.copy(content);
    const rows = new FileRecords(content, POSTS, 1);
    rows.add(0, content.length);
    expect((rows.item(0) as Activity).tags).toEqual(['old']);
    MATCHES.create({ rules: compileRules(RULES).share(), dropUnmatched: false })(rows);
    expect((rows.item(0) as Activity).tags).toEqual(['wet']);
  });

  it('has a different identity in checkpoints if a value, tag or id of its rules differs', () => {
    const [rule] = RULES as [(typeof RULES)[number]];
    const identities = [
      rule,
      { ...rule, value: 'rain' },
      { ...rule, tag: 'other' },
      { ...rule, id: '7800000000000000003' },
      { value: rule.value },
    ].map(one => JSON.stringify(identityOf(matchRules([one])(source()))));
    expect(new Set(identities).size).toBe(identities.length);
    expect(JSON.stringify(identityOf(matchRules([{ ...rule }])(source())))).toBe(identities[0]);
  });

  it.each([{ dropUnmatched: true }, { product: 'search' }] as const)(
    'has a different identity in checkpoints with %j',
    options => {
      const [without, given] = [matchRules(RULES), matchRules(RULES, options)].map(operator =>
        JSON.stringify(identityOf(operator(source()))),
      );
      expect(given).not.toBe(without);
    },
  );

  it('throws for invalid rules when it is called', () => {
    expect(() => matchRules([{ value: '-snow' }])).toThrow(OptionError);
  });
});
