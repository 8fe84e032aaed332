import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { Activity } from '../../../src/post/activity.js';

/**
 * The words of posts and rules. There are few, so that rules often match. Some contain punctuation
 * or are in scripts that need special handling.
 */
export const WORDS = [
  ...[
    'snow',
    'café',
    'cafe',
    'the',
    'a',
    'b',
    '東京',
    '京',
    '🍕',
    '👍🏽',
    '👍',
    '🇩🇪',
    '🇩',
    '🇪',
    '❤️',
    '❤',
    '☕',
    '1️⃣',
    '#️⃣',
    '❤️‍🔥',
    'coca-cola',
    "don't",
  ],
] as const;

/** A product for each of the two rule dialects. */
export const PRODUCTS = ['search', 'historical'] as const;

export const USERS = ['karl', 'anna', '12', '345'] as const;
export const IDS = ['12', '345', '6789'] as const;
export const VOCABULARY = { words: WORDS, users: USERS, ids: IDS };

export interface DraftPost {
  readonly id: string;
  readonly text: string;
  readonly long: boolean;
  readonly hashtags: readonly string[];
  readonly cashtags: readonly string[];
  readonly mentions: readonly { readonly handle: string; readonly id: string }[];
  readonly links: readonly DraftLink[];
  readonly media: readonly string[];
  readonly author: DraftAuthor;
  readonly reply: boolean;
  readonly lang: string;
  readonly place: DraftPlace | undefined;
  readonly position: readonly [longitude: number, latitude: number] | undefined;
  readonly source: string;
  readonly retweeted?: DraftPost | undefined;
  readonly quoted?: DraftPost | undefined;
}

interface DraftLink {
  readonly expanded: string;
  readonly unwound:
    | { readonly url: string; readonly title: string; readonly description: string }
    | undefined;
}

interface DraftAuthor {
  readonly handle: string;
  readonly id: string;
  readonly name: string;
  readonly bio: string | null;
  readonly location: string | null;
  readonly verified: boolean;
  readonly count: number;
  readonly home:
    | {
        readonly country: string;
        readonly region: string;
        readonly position: readonly [number, number];
      }
    | undefined;
}

interface DraftPlace {
  readonly id: string;
  readonly name: string;
  readonly country: string;
  readonly corner: readonly [number, number];
}

const AUTHOR = {
  handle: 'Karl_The_Fog',
  id: '101',
  name: 'Karl the Fog',
  bio: 'Weather over the bay & beyond',
  location: 'San Francisco, CA',
  verified: true,
  count: 1000,
  home: { country: 'US', region: 'one/two', position: [-122.42, 37.77] },
} as const;

export const PLAIN: DraftPost = {
  id: '1050118621198921728',
  text: '',
  long: false,
  hashtags: [],
  cashtags: [],
  mentions: [],
  links: [],
  media: [],
  author: AUTHOR,
  reply: false,
  lang: 'en',
  place: undefined,
  position: undefined,
  source: 'Fog Machine',
};

const word = fc.constantFrom(...WORDS);
const separator = fc.constantFrom(' ', ' ', ' ', '  ', '-', ', ', ' #', '');
const phrase = fc
  .array(fc.tuple(word, separator), { maxLength: 7 })
  .map(parts => parts.flat().join(''));
const user = fc.record({
  handle: fc.constantFrom('karl', 'Anna', '12', 'x_y'),
  id: fc.constantFrom(...IDS),
});
const address = fc
  .tuple(
    fc.constantFrom('http://', 'https://'),
    fc.constantFrom('snow.com', 'b.a'),
    fc.constantFrom('', '/the-cafe', '/a?b=snow'),
  )
  .map(parts => parts.join(''));
const degrees = fc.constantFrom([0, 0] as const, [0.1, 0.1] as const, [-105.27, 40.01] as const);

const link: fc.Arbitrary<DraftLink> = fc.record({
  expanded: address,
  unwound: fc.option(fc.record({ url: address, title: phrase, description: phrase }), {
    nil: undefined,
  }),
});

const author: fc.Arbitrary<DraftAuthor> = fc
  .tuple(
    user,
    fc.record({
      name: phrase,
      bio: fc.option(phrase),
      location: fc.option(phrase),
      verified: fc.boolean(),
      count: fc.constantFrom(0, 1, 1000, 99_999),
      home: fc.option(
        fc.record({ country: fc.constantFrom('US', 'DE'), region: word, position: degrees }),
        { nil: undefined },
      ),
    }),
  )
  .map(([person, rest]) => ({ ...person, ...rest }));

function simplePost(): fc.Arbitrary<DraftPost> {
  return fc.record({
    id: fc.bigInt({ min: 1n, max: 2n ** 62n }).map(String),
    text: phrase,
    long: fc.boolean(),
    hashtags: fc.array(word, { maxLength: 2 }),
    cashtags: fc.array(word, { maxLength: 1 }),
    mentions: fc.array(user, { maxLength: 2 }),
    links: fc.array(link, { maxLength: 2 }),
    media: fc.array(fc.constantFrom('photo', 'video', 'animated_gif'), { maxLength: 2 }),
    author,
    reply: fc.boolean(),
    lang: fc.constantFrom('en', 'de', 'id', 'iw', 'und'),
    place: fc.option(
      fc.record({
        id: fc.constantFrom('a1b2', 'c3'),
        name: phrase,
        country: fc.constantFrom('US', 'DE'),
        corner: degrees,
      }),
      { nil: undefined },
    ),
    position: fc.option(degrees, { nil: undefined }),
    source: fc.constantFrom('snow', 'the café'),
  });
}

export function arbitraryDraft(): fc.Arbitrary<DraftPost> {
  const optional = fc.option(simplePost(), { nil: undefined, freq: 2 });
  return fc.tuple(simplePost(), optional, optional).map(([post, retweeted, quoted]) =>
    retweeted === undefined
      ? { ...post, quoted }
      : {
          ...post,
          place: undefined,
          position: undefined,
          reply: false,
          retweeted: { ...retweeted, quoted },
        },
  );
}

/** Generates the activities of drafts, in both formats. */
export function arbitraryActivity(): fc.Arbitrary<Activity> {
  return fc
    .tuple(arbitraryDraft(), fc.boolean())
    .map(([draft, isFirst]) => (isFirst ? original(draft) : streams(draft)));
}

export function postOf(text: string): Activity {
  return original({ ...PLAIN, text });
}

export function original(draft: DraftPost): Activity {
  return activity(originalJson(draft));
}

export function streams(draft: DraftPost): Activity {
  return activity({ ...streamsJson(draft), gnip: enrichments(draft) });
}

function activity(post: object): Activity {
  return new Activity(Buffer.from(JSON.stringify(post)));
}

function rootText({ text, long, retweeted }: DraftPost): string {
  if (retweeted !== undefined)
    return `RT @${retweeted.author.handle}: ${escaped(retweeted.text).slice(0, 5)}…`;
  return long ? `${escaped(text).slice(0, 5)}… https://t.co/x` : escaped(text);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function originalJson(draft: DraftPost): object {
  const { retweeted, quoted, author, place, position } = draft;
  const to = draft.reply ? draft.mentions[0] : undefined;
  return {
    created_at: 'Wed Oct 10 20:19:24 +0000 2018',
    id: 1,
    id_str: draft.id,
    text: rootText(draft),
    truncated: draft.long,
    ...(draft.long && retweeted === undefined
      ? { extended_tweet: { full_text: escaped(draft.text), ...entities(draft, 'original') } }
      : {}),
    ...(draft.long && retweeted === undefined
      ? { entities: NO_ENTITIES }
      : entities(draft, 'original')),
    source: `<a href="http://source.com/${draft.source}" rel="nofollow">${draft.source}</a>`,
    in_reply_to_status_id_str: to === undefined ? null : '6789',
    in_reply_to_user_id_str: to === undefined ? null : to.id,
    in_reply_to_screen_name: to === undefined ? null : to.handle,
    user: {
      id_str: author.id,
      name: escaped(author.name),
      screen_name: author.handle,
      description: author.bio === null ? null : escaped(author.bio),
      location: author.location === null ? null : escaped(author.location),
      verified: author.verified,
      statuses_count: author.count,
      followers_count: author.count,
      friends_count: author.count,
      listed_count: author.count,
      ...(author.home === undefined
        ? {}
        : {
            derived: {
              locations: [
                {
                  country_code: author.home.country,
                  region: author.home.region,
                  sub_region: author.home.region,
                  locality: author.home.region,
                  geo: { type: 'point', coordinates: author.home.position },
                },
              ],
            },
          }),
    },
    geo: position === undefined ? null : { type: 'Point', coordinates: [...position].reverse() },
    coordinates: position === undefined ? null : { type: 'Point', coordinates: position },
    place:
      place === undefined
        ? null
        : {
            id: place.id,
            name: place.name,
            full_name: `${place.name}, ${place.country}`,
            country_code: place.country,
            bounding_box: { type: 'Polygon', coordinates: [square(place.corner)] },
          },
    lang: draft.lang,
    is_quote_status: (retweeted?.quoted ?? quoted) !== undefined,
    ...(retweeted === undefined ? {} : { retweeted_status: originalJson(retweeted) }),
    ...(quoted === undefined ? {} : { quoted_status: originalJson(quoted) }),
  };
}

function streamsJson(draft: DraftPost): object {
  const { retweeted, quoted, author, place, position } = draft;
  const to = draft.reply ? draft.mentions[0] : undefined;
  const long = draft.long && retweeted === undefined;
  return {
    id: `tag:search.twitter.com,2005:${draft.id}`,
    objectType: 'activity',
    verb: retweeted === undefined ? 'post' : 'share',
    postedTime: '2018-10-10T20:19:24.000Z',
    body: rootText(draft),
    ...(long ? { long_object: { body: escaped(draft.text), ...entities(draft, 'streams') } } : {}),
    ...(long ? { twitter_entities: NO_ENTITIES } : entities(draft, 'streams')),
    generator: { displayName: draft.source, link: `http://source.com/${draft.source}` },
    ...(to === undefined
      ? {}
      : { inReplyTo: { link: `http://twitter.com/${to.handle}/statuses/6789` } }),
    actor: {
      id: `id:twitter.com:${author.id}`,
      displayName: escaped(author.name),
      preferredUsername: author.handle,
      summary: author.bio === null ? null : escaped(author.bio),
      ...(author.location === null
        ? {}
        : { location: { objectType: 'place', displayName: escaped(author.location) } }),
      verified: author.verified,
      statusesCount: author.count,
      followersCount: author.count,
      friendsCount: author.count,
      listedCount: author.count,
    },
    ...(position === undefined
      ? {}
      : { geo: { type: 'Point', coordinates: [...position].reverse() } }),
    ...(place === undefined
      ? {}
      : {
          location: {
            name: place.name,
            displayName: `${place.name}, ${place.country}`,
            country_code: 'The Name',
            twitter_country_code: place.country,
            link: `https://api.twitter.com/1.1/geo/id/${place.id}.json`,
            geo: { type: 'Polygon', coordinates: [square(place.corner)] },
          },
        }),
    twitter_lang: draft.lang,
    object:
      retweeted === undefined
        ? { objectType: 'note', summary: draft.text }
        : streamsJson(retweeted),
    ...(quoted === undefined ? {} : { twitter_quoted_status: streamsJson(quoted) }),
  };
}

const NO_ENTITIES = { hashtags: [], symbols: [], urls: [], user_mentions: [] };

function entities(draft: DraftPost, format: 'original' | 'streams'): object {
  const all = {
    hashtags: draft.hashtags.map(text => ({ text })),
    symbols: draft.cashtags.map(text => ({ text })),
    user_mentions: draft.mentions.map(({ handle, id }) => ({ screen_name: handle, id_str: id })),
    urls: draft.links.map(link => ({
      url: shortUrl(link),
      expanded_url: link.expanded,
      display_url: link.expanded.replace(/^https?:\/\//, '').slice(0, 8),
      ...(format === 'original' && link.unwound !== undefined ? { unwound: link.unwound } : {}),
    })),
    media: draft.media.map(() => ({ type: 'photo' })),
  };
  const extended = { media: draft.media.map(type => ({ type })) };
  return format === 'original'
    ? { entities: all, extended_entities: extended }
    : { twitter_entities: all, twitter_extended_entities: extended };
}

/**
 * Returns the short URL of a link. A short URL must have the same target in all posts, because in
 * the `activity_streams` format, the target of a link is looked up by its short URL.
 */
function shortUrl(link: DraftLink): string {
  return `https://t.co/${createHash('sha1').update(JSON.stringify(link)).digest('base64url')}`;
}

/** The outermost post lists all links, including those in nested posts. */
function enrichments(draft: DraftPost): object {
  const { home } = draft.author;
  return {
    urls: enrichedUrls(draft),
    ...(home === undefined
      ? {}
      : {
          profileLocations: [
            {
              address: {
                countryCode: home.country,
                region: home.region,
                subRegion: home.region,
                locality: home.region,
              },
              geo: { type: 'point', coordinates: home.position },
            },
          ],
        }),
  };
}

function enrichedUrls(draft: DraftPost): object[] {
  const own = draft.links.flatMap(link =>
    link.unwound === undefined
      ? []
      : [
          {
            url: shortUrl(link),
            expanded_url: link.unwound.url,
            expanded_url_title: link.unwound.title,
            expanded_url_description: link.unwound.description,
          },
        ],
  );
  const inner = [draft.retweeted, draft.quoted].filter(post => post !== undefined);
  return [...own, ...inner.flatMap(enrichedUrls)];
}

function square([west, south]: readonly [number, number]): (readonly [number, number])[] {
  return [
    [west, south],
    [west, south + 0.05],
    [west + 0.05, south + 0.05],
    [west + 0.05, south],
  ];
}
