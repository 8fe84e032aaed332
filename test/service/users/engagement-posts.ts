import { DAY } from '../../../src/base/time.js';
import { Activity } from '../../../src/post/activity.js';
import type { ArchivedPost } from '../../../src/service/archive/archive.js';
import type { ServiceOptions } from '../../../src/service/index.js';
import { TOTALED_TYPES } from '../../../src/service/users/engagement-counts.js';
import { NOW } from '../local-service.js';
import { type Ask, localOAuth, type OAuthReply } from './local-oauth.js';

const EPOCH = 1_288_834_974_657;

export interface PostOptions {
  /** The age of the post at `NOW`, in milliseconds. */
  readonly ago: number;
  /** Distinguishes posts that have the same millisecond. */
  readonly low?: number;
  readonly author?: string;
  readonly favorites?: number;
  readonly retweets?: number;
  readonly replies?: number;
  readonly replyTo?: string;
  readonly retweetOf?: PostOptions;
}

export function idOf({ ago, low = 0 }: PostOptions): string {
  return String((BigInt(Math.floor((NOW - ago) / 1000) * 1000 - EPOCH) << 22n) + BigInt(low));
}

/** Creates a post. Its author is ann (user 7), unless another user is given. */
export function post(
  options: PostOptions,
  format: 'original' | 'activity_streams' = 'original',
): ArchivedPost {
  const at = Math.floor((NOW - options.ago) / 1000) * 1000;
  const json = (format === 'original' ? original : streams)(options, at);
  return { at, id: idOf(options), activity: new Activity(Buffer.from(json)) };
}

function original(options: PostOptions, at: number): string {
  const id = idOf(options);
  const { author = '7', favorites, retweets, replies, replyTo, retweetOf } = options;
  const { favorites: ofShared = 0, ...shared } = retweetOf ?? { ago: 0 };
  return JSON.stringify({
    created_at: new Date(at)
      .toUTCString()
      .replace(/(\w+), (\d+) (\w+) (\d+) (.*) GMT/, '$1 $3 $2 $5 +0000 $4'),
    id_str: id,
    text: 'tea',
    user: { id_str: author, screen_name: author === '7' ? 'ann' : `user${author}`, name: 'Ann' },
    entities: { hashtags: [], urls: [], user_mentions: [], symbols: [] },
    lang: 'en',
    favorite_count: favorites,
    retweet_count: retweets,
    reply_count: replies,
    in_reply_to_status_id_str: replyTo,
    ...(retweetOf && {
      retweeted_status: JSON.parse(original({ ...shared, favorites: ofShared }, NOW - shared.ago)),
    }),
  });
}

function streams(options: PostOptions, at: number): string {
  const id = idOf(options);
  const { author = '7', favorites, retweets, replyTo, retweetOf } = options;
  return JSON.stringify({
    id: `tag:search.example.com,2005:${id}`,
    objectType: 'activity',
    verb: retweetOf ? 'share' : 'post',
    postedTime: new Date(at).toISOString(),
    body: 'tea',
    actor: {
      objectType: 'person',
      id: `id:example.com:${author}`,
      preferredUsername: author === '7' ? 'ann' : `user${author}`,
      displayName: 'Ann',
    },
    object: retweetOf
      ? JSON.parse(streams(retweetOf, NOW - retweetOf.ago))
      : { objectType: 'note', summary: 'tea' },
    favoritesCount: favorites,
    retweetCount: retweets,
    inReplyTo: replyTo && { link: `http://example.com/ann/statuses/${replyTo}` },
    twitter_entities: { hashtags: [], urls: [], user_mentions: [], symbols: [] },
    twitter_lang: 'en',
    gnip: { urls: [] },
  });
}

export const PATH = '/insights/engagement/totals';
export const BOTH = { group_by: ['tweet.id', 'engagement.type'] };

interface Totals {
  readonly [name: string]: unknown;
}

export const MINE: PostOptions = { ago: 2 * DAY, favorites: 5, retweets: 1, replies: 2 };

export async function signedIn(posts: readonly ArchivedPost[], options: ServiceOptions = {}) {
  const local = await localOAuth(posts, options);
  const token = await local.signIn('ann');
  const ask = (json: unknown, more: Ask = {}) => local.post(PATH, { ...token, json, ...more });
  const totals = async (ids: readonly string[], groupings: object = { g: BOTH }) =>
    ask({ tweet_ids: ids, engagement_types: TOTALED_TYPES, groupings });
  return { ...local, token, ask, totals };
}

export function bodyOf({ text }: OAuthReply): Totals {
  return JSON.parse(text) as Totals;
}
