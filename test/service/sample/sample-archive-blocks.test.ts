import { describe, expect, it } from 'vitest';
import { HOUR, MINUTE } from '../../../src/base/time.js';
import { fieldsOf } from '../../../src/post/read-fields.js';
import { parseRule } from '../../../src/rules/language/parse-rule.js';
import { compileRule } from '../../../src/rules/match/compile-rule.js';
import { samplePosts } from '../../../src/service/index.js';
import { openSampleArchive } from '../../../src/service/sample/sample-archive.js';

const START = Date.UTC(2024, 2, 5);
const WINDOW = { from: START, to: START + 3 * HOUR };
const archive = () => openSampleArchive({ now: () => WINDOW.to });

function posts() {
  const minutes = Array.from({ length: 180 }, (_, i) => START + i * MINUTE);
  return minutes.flatMap(minute => samplePosts(minute));
}

describe('the retweets and replies that a search finds for a generated post', () => {
  it('are exactly the posts that name the generated post as their original', async () => {
    const expected = new Map<string, string[]>();
    for (const activity of posts().reverse()) {
      const { retweeted, repliedId } = fieldsOf(activity);
      for (const term of [
        retweeted && `retweets_of_status_id:${retweeted.id}`,
        repliedId !== '' && `in_reply_to_status_id:${repliedId}`,
      ])
        if (term) expected.set(term, [...(expected.get(term) ?? []), activity.id]);
    }
    expect(expected.size).toBeGreaterThan(50);
    const sample = archive();
    const search = async (text: string) => {
      const { tree } = parseRule(text);
      if (tree === undefined) throw new Error(text);
      const rule = { tree, matches: compileRule(tree, { product: 'search' }) };
      const { posts } = await sample.search(rule, WINDOW, { limit: 500 });
      return posts.map(({ id }) => id);
    };
    for (const [term, ids] of expected) expect(await search(term)).toEqual(ids);
    const [first = ''] = expected.keys();
    expect(await search(`${first.split(':')[0]}:1`)).toEqual([]);
    // Combines each term with operators that the index looks up in another way.
    const all = await search('is:retweet OR is:reply');
    for (const [term, ids] of [...expected].slice(0, 20))
      expect(await search(`(is:retweet OR is:reply) -${term}`)).toEqual(
        all.filter(id => !ids.includes(id)),
      );
  });

  it('nearly all appear within `reactionsMs` after the generated post', () => {
    const { reactionsMs = 0 } = archive();
    const delays = posts().flatMap(({ retweeted, postedAt }) =>
      retweeted === undefined ? [] : [postedAt.getTime() - retweeted.postedAt.getTime()],
    );
    expect(delays.length).toBeGreaterThan(100);
    expect(Math.min(...delays)).toBeGreaterThan(0);
    const late = delays.filter(delay => delay > reactionsMs);
    expect(late.length).toBeLessThan(delays.length / 100);
  });
});
