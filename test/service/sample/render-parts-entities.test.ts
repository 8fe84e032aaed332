import { describe, expect, test } from 'vitest';
import { MINUTE } from '../../../src/base/time.js';
import type { OriginalEntities } from '../../../src/post/original-post.js';
import { samplePosts } from '../../../src/service/sample/sample-posts.js';
import { original, streams } from './sample-posts-of.js';

function checkEntities(text: string, entities: OriginalEntities): void {
  const points = Array.from(text);
  const at = ([start, end]: readonly [number, number]) => points.slice(start, end).join('');
  for (const tag of entities.hashtags) expect(at(tag.indices)).toBe(`#${tag.text}`);
  for (const symbol of entities.symbols) expect(at(symbol.indices)).toBe(`$${symbol.text}`);
  for (const mention of entities.user_mentions)
    expect(at(mention.indices)).toBe(`@${mention.screen_name}`);
  for (const link of entities.urls) expect(at(link.indices)).toBe(link.url);
  for (const medium of entities.media ?? []) expect(at(medium.indices)).toBe(medium.url);
}

describe('the entities of generated posts', () => {
  test('have indices that count code points', () => {
    for (const year of [2008, 2012, 2016, 2019, 2024])
      for (const post of samplePosts(Date.UTC(year, 5, 1, 12), { postsPerMinute: 300 })) {
        const {
          text,
          entities,
          extended_tweet: extended,
          truncated,
          retweeted_status,
        } = original(post);
        checkEntities(text, entities);
        expect(truncated).toBe(extended !== undefined);
        if (extended !== undefined) {
          checkEntities(extended.full_text, extended.entities);
          expect(Array.from(text).length).toBeLessThanOrEqual(140);
        }
        if (retweeted_status !== undefined)
          checkEntities(retweeted_status.text, retweeted_status.entities);
      }
  });

  test('contain titles and descriptions of links, and topics of influence, only from 29 July 2016 on', () => {
    const hour = (at: number, format: 'original' | 'activity_streams') =>
      Array.from({ length: 3 }, (_, i) =>
        samplePosts(at + i * MINUTE, { postsPerMinute: 200, format }),
      ).flat();
    for (const [at, isEnriched] of [
      [Date.UTC(2012, 5, 1), false],
      [Date.UTC(2016, 6, 28, 23, 57), false],
      [Date.UTC(2016, 6, 29), true],
      [Date.UTC(2024, 5, 1), true],
    ] as const) {
      let links = 0;
      for (const post of hour(at, 'original').map(original)) {
        const { klout } = post.user.derived ?? {};
        expect(klout?.score).toBeGreaterThan(0);
        expect(klout?.influence_topics !== undefined).toBe(isEnriched);
        if (post.retweeted_status !== undefined) continue;
        for (const { unwound } of post.entities.urls) {
          if (unwound === undefined) continue;
          links++;
          expect(unwound.status).toBe(200);
          expect('title' in unwound && 'description' in unwound).toBe(isEnriched);
          expect('title' in unwound || 'description' in unwound).toBe(isEnriched);
        }
      }
      expect(links).toBeGreaterThan(0);
      for (const { gnip, verb } of hour(at, 'activity_streams').map(streams)) {
        expect(gnip?.klout_score).toBeGreaterThan(0);
        expect(gnip?.klout_profile !== undefined).toBe(isEnriched);
        if (verb === 'share') continue;
        for (const page of gnip?.urls ?? [])
          expect('expanded_url_title' in page && 'expanded_url_description' in page).toBe(
            isEnriched,
          );
      }
    }
  });
});
