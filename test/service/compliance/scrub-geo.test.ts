import { describe, expect, it } from 'vitest';
import { Activity } from '../../../src/post/activity.js';
import { withoutScrubbedGeo } from '../../../src/service/compliance/scrub-geo.js';

const GEO = '"geo":{"type":"Point","coordinates":[1,2]}';
const original = (id: number, user: number, rest = '') =>
  `{"created_at":"Wed May 15 10:00:00 +0000 2024","id":${id},"id_str":"${id}","text":"tea",${GEO},"coordinates":{"type":"Point","coordinates":[2,1]},"place":{"id":"p","name":"Oslo"},"user":{"id":${user},"id_str":"${user}","screen_name":"u${user}","location":"Oslo"}${rest}}`;
const streams = (id: number, user: number) =>
  `{"id":"tag:search.twitter.com,2005:${id}","objectType":"activity","verb":"post","postedTime":"2024-05-15T10:00:00.000Z","body":"tea",${GEO},"location":{"objectType":"place","displayName":"Oslo"},"actor":{"objectType":"person","id":"id:twitter.com:${user}","preferredUsername":"u","location":{"displayName":"Oslo"}}}`;

const scrubbed = (json: string, upTo: Readonly<Record<string, bigint>>) =>
  JSON.parse(
    withoutScrubbedGeo(new Activity(Buffer.from(json)), user => upTo[user]).raw.toString(),
  );

describe('a post of the local service whose author has removed locations', () => {
  it.each([9n, 10n, 11n])('has no location if its id is 10 and the last id is %d', upTo => {
    const isScrubbed = upTo >= 10n;
    const expected = { geo: null, coordinates: null, place: null };
    const post = JSON.parse(original(10, 7));
    expect(scrubbed(original(10, 7), { 7: upTo })).toEqual(
      isScrubbed ? { ...post, ...expected } : post,
    );
  });

  it('keeps the location of its author in the format activity_streams', () => {
    const post = JSON.parse(streams(10, 7));
    expect(scrubbed(streams(10, 7), { 7: 10n })).toEqual({ ...post, geo: null, location: null });
  });

  it('loses its location within a retweet and a quote of another user', () => {
    const quote = `,"quoted_status":${original(8, 7)}`;
    const json = original(10, 5, `,"retweeted_status":${original(9, 7, quote)}`);
    const found = scrubbed(json, { 7: 9n });
    expect(found.place).not.toBeNull();
    expect(found.retweeted_status.place).toBeNull();
    expect(found.retweeted_status.quoted_status.geo).toBeNull();
  });

  it('is the same object if nothing was removed', () => {
    const post = new Activity(Buffer.from(original(10, 7)));
    expect(withoutScrubbedGeo(post, () => undefined)).toBe(post);
  });
});
