import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Activity } from '../../../src/post/activity.js';
import { checkRule } from '../../../src/rules/language/check-rule.js';
import { parseRule } from '../../../src/rules/language/parse-rule.js';
import { compileRule } from '../../../src/rules/match/compile-rule.js';
import type { RuleProduct } from '../../../src/rules/post/dialect.js';
import { bySuite } from '../../suite.js';
import { arbitraryRule } from '../arbitrary-rule.js';
import {
  arbitraryDraft,
  type DraftPost,
  original,
  PLAIN,
  streams,
  VOCABULARY,
} from './arbitrary-matching-post.js';

type Part = Partial<DraftPost>;
type Expected = boolean | { readonly search: boolean; readonly streams: boolean };
type Row = readonly [rule: string, post: Part, matches: Expected];

const link = (expanded: string, unwound?: { url: string; title: string; description: string }) => ({
  expanded,
  unwound,
});
const quoting = (quoted: Part): Part => ({ text: 'look', quoted: { ...PLAIN, ...quoted } });
const retweeting = (retweeted: Part): Part => ({
  text: 'cut',
  retweeted: {
    ...PLAIN,
    author: { ...PLAIN.author, handle: 'anna', id: '202', name: 'Anna', verified: false },
    ...retweeted,
  },
});

/** Returns the verb of a title. */
function matches(expected: Row[2]): string {
  if (typeof expected === 'boolean') return expected ? 'matches' : 'does not match';
  return expected.search ? 'matches (search only)' : 'matches (PowerTrack only)';
}

/**
 * Tests each row in both formats and with both engines. Also evaluates operators that a product
 * does not support.
 */
function table(name: string, rows: readonly Row[]): void {
  describe(`compileRule for rules about ${name}`, () => {
    it.each(
      rows.map(row => [row[0], matches(row[2]), JSON.stringify(row[1]).slice(0, 80), row] as const),
    )('finds that the rule %s %s the post %s', (_rule, _matches, _post, [rule, part, expected]) => {
      const { tree, problems } = parseRule(rule);
      expect(problems.filter(problem => problem.severity === 'error')).toEqual([]);
      const draft = { ...PLAIN, ...part };
      const answers = (['search', 'historical', 'replay'] as const).map(product =>
        [original(draft), streams(draft)].map(compileRule(tree!, { product })),
      );
      const { search, streams: stream } =
        typeof expected === 'boolean' ? { search: expected, streams: expected } : expected;
      expect(answers).toEqual([
        [search, search],
        [stream, stream],
        [stream, stream],
      ]);
    });
  });
}

const onlyStreams = { search: false, streams: true };
const onlySearch = { search: true, streams: false };

table('emoji of the basic plane, with or without a variation selector', [
  ['❤', { text: 'I❤️you' }, true],
  ['❤️', { text: 'I❤you' }, true],
  ['you', { text: 'I❤️you' }, true],
  ['contains:✅', { text: 'done✅' }, true],
  ['contains:❤️', { text: 'I❤you' }, true],
  ['☕ -⚽', { text: '☕!' }, true],
  ['☕ -⚽', { text: '☕⚽' }, false],
  ['❤', { text: '❤️‍🔥' }, true],
  ['❤️‍🔥', { text: 'so ❤️‍🔥' }, true],
  ['❤️‍🔥', { text: 'so 🔥' }, false],
  ['1️⃣', { text: '1️⃣2️⃣3️⃣go' }, true],
  ['go', { text: '1️⃣2️⃣3️⃣go' }, true],
  ['1️⃣', { text: '1' }, false],
  ['1', { text: '1️⃣' }, false],
  ['#️⃣', { text: 'press #⃣ now' }, true],
  ['#️⃣', { text: 'press *️⃣ now' }, false],
]);

table('keywords, which are whole tokens', [
  ['cola', { text: 'I like coca-cola' }, true],
  ['cola', { text: 'I like cocacola' }, false],
  ['gnip', { text: '@gnip blog' }, true],
  ['gnip', { text: 'Check out Gnip.' }, true],
  ['gnip', { text: "gnip's" }, true],
  ['gnip', { text: '#gniprocks' }, false],
  ['🍕', { text: 'I like🍕' }, true],
  ['like', { text: 'I like🍕' }, true],
  ['👍', { text: '👍🏽' }, true],
  ['"👍🏽"', { text: 'so 👍🏽👍' }, true],
  ['"👍🏽"', { text: '👍' }, false],
  ['🇪🇪', { text: '🇩🇪🇪🇸' }, false],
  ['🇪🇸', { text: '🇩🇪🇪🇸' }, true],
  ['SNOW', { text: 'Snow' }, true],
  ['snow', { text: 'SNOW' }, true],
  ['σασ', { text: 'ΣΑΣ' }, true],
  ['coca-cola', { text: 'coca cola' }, true],
  ['coca-cola', { text: 'coca x cola' }, false],
  ['東京', { text: '東京タワー' }, true],
  ['東京', { text: '京東' }, false],
  ['서울', { text: '서울에서' }, true],
  ['or', { text: 'this or that' }, true],
  ['amp', { text: 'you & me' }, false],
]);

table('accents, which only search ignores', [
  ['cumpleaños', { text: 'feliz cumpleanos' }, onlySearch],
  ['cumpleanos', { text: 'feliz cumpleaños' }, onlySearch],
  ['cumpleaños', { text: 'feliz CUMPLEAÑOS' }, true],
  ['cafe\u0301', { text: 'café' }, true],
  ['cafe', { text: 'cafe\u0301' }, onlySearch],
  ['cumplea', { text: 'cumpleaños' }, false],
  ['#cafe', { hashtags: ['café'] }, onlySearch],
  ['йод', { text: 'иод' }, false],
]);

table('quoted phrases', [
  ['"love snow"', { text: 'I love snow!' }, true],
  ['"love snow"', { text: '#love #snow' }, onlySearch],
  ['"love snow"', { text: 'love   \n snow' }, true],
  ['"love  snow"', { text: 'love snow' }, true],
  ['"love snow"', { text: 'lovely snow' }, false],
  ['"love snow"', { text: 'love snowboards' }, false],
  ['"love snow"', { text: 'snow love' }, false],
  ['"love, snow"', { text: 'love snow' }, onlySearch],
  ['"love, snow"', { text: 'love, snow' }, true],
  ['"hello -world!"', { text: 'oh hello -world! yes' }, true],
  ['"hello -world!"', { text: 'oh hello -world yes' }, onlySearch],
  ['"#hashtag"', { text: 'a hashtag' }, onlySearch],
  ['"#hashtag"', { text: 'a #hashtag' }, true],
  ['"$$$"', { text: 'cash $$$$' }, onlyStreams],
  ['"Q&A"', { text: 'our Q&A' }, true],
  ['"coca"', { text: 'coca-cola' }, true],
  ['" snow "', { text: 'snow' }, true],
]);

table('proximity operators', [
  ['"a b"~1', { text: 'a b' }, true],
  ['"a b"~1', { text: 'a x b' }, true],
  ['"a b"~1', { text: 'a x x b' }, false],
  ['"a b"~2', { text: 'b a' }, true],
  ['"a b"~1', { text: 'b a' }, false],
  ['"a b"~3', { text: 'b x a' }, true],
  ['"a b"~2', { text: 'b x a' }, false],
  ['"a b c"~2', { text: 'a x b, x c' }, true],
  ['"a b c"~1', { text: 'a x b x c' }, false],
  ['"a a"~2', { text: 'a b' }, false],
  ['"a a"~2', { text: 'a b a' }, true],
]);

table('the operator contains', [
  ['contains:acol', { text: 'CocaCola' }, true],
  ['contains:"cola light"', { text: 'cocacola  lights' }, true],
  ['contains:phone', { text: 'call' }, false],
  ['contains:🍕', { text: 'x🍕x' }, true],
]);

table('entities, whatever the text', [
  ['#snow', { text: 'x', hashtags: ['Snow'] }, true],
  ['#snow', { text: '#snow' }, false],
  ['#1989', { text: 'x', hashtags: ['TaylorSwift1989'] }, false],
  ['@karl', { mentions: [{ handle: 'Karl', id: '7' }] }, true],
  ['@7', { mentions: [{ handle: 'Karl', id: '7' }] }, true],
  ['@karl', { text: '@karl' }, false],
  ['$twtr', { cashtags: ['TWTR'] }, true],
  ['$twtr', { text: '$TWTR' }, false],
  ['has:hashtags', { hashtags: ['x'] }, true],
  ['has:hashtags', { text: '#x' }, false],
  ['has:mentions', { mentions: [{ handle: 'Karl', id: '7' }] }, true],
  ['has:symbols', { cashtags: ['TWTR'] }, true],
  ['has:links', { links: [link('http://a.com')] }, true],
  ['has:links', { text: 'http://a.com' }, false],
  ['has:links', { media: ['photo'] }, true],
  ['has:links', quoting({}), true],
  ['has:media', { media: ['animated_gif'] }, true],
  ['has:images', { media: ['photo'] }, true],
  ['has:images', { media: ['video', 'animated_gif'] }, false],
  ['has:videos', { media: ['video'] }, true],
  ['has:videos', { media: ['photo'] }, false],
]);

const unwound = { url: 'https://b.org/x', title: 'Long Read', description: 'About snow, mostly' };

table('links', [
  ['developer', { links: [link('https://developer.example.com/docs')] }, true],
  ['x', { links: [link('https://a.com', unwound)] }, true],
  ['"example"', { links: [link('https://developer.example.com/docs')] }, true],
  ['"some-story"', { links: [link('https://a.com/some-story')] }, true],
  ['"some-story"', { links: [link('https://a.com/some/story')] }, onlySearch],
  ['"b.org/x"', { links: [link('https://a.com', unwound)] }, true],
  ['"a.com/b"', { links: [link('https://a.com/b')] }, true],
  ['"https://a.com/b"', { links: [link('https://a.com/b')] }, true],
  ['"com look"', { text: 'look', links: [link('https://a.com')] }, false],
  ['"look https"', { text: 'look', links: [link('https://a.com')] }, false],
  ['"b.org a.com"~6', { links: [link('https://a.com', unwound)] }, false],
  ['url:a.com', { links: [link('https://a.com/b')] }, true],
  ['url:"https://a.com"', { links: [link('https://a.com/b')] }, true],
  ['url:"http://a.com"', { links: [link('https://a.com/b')] }, false],
  ['url:b.org', { links: [link('https://a.com', unwound)] }, true],
  ['url:com', { text: 'com' }, false],
  ['url:om', { links: [link('https://a.com')] }, false],
  ['url_contains:om/b', { links: [link('https://a.com/b')] }, true],
  ['url_contains:zz', { links: [link('https://a.com/b')] }, false],
  ['url_title:read', { links: [link('https://a.com', unwound)] }, true],
  ['url_title:"long read"', { links: [link('https://a.com', unwound)] }, true],
  ['url_title:snow', { links: [link('https://a.com', unwound)] }, false],
  ['url_description:mostly', { links: [link('https://a.com', unwound)] }, true],
  ['within_url_title:read', { links: [link('https://a.com', unwound)] }, true],
]);

table('the author', [
  ['from:karl_the_fog', {}, true],
  ['from:101', {}, true],
  ['from:karl', {}, false],
  ['bio:weather', {}, true],
  ['bio:"the bay & beyond"', {}, true],
  ['bio:eather', {}, false],
  ['bio_name:"karl the"', {}, true],
  ['bio_location:francisco', {}, true],
  ['bio_location:"san francisco, ca"', {}, true],
  ['bio_location:"san francisco ca"', {}, onlySearch],
  ['statuses_count:1000', {}, true],
  ['statuses_count:1001', {}, false],
  ['followers_count:1..1000', {}, true],
  ['friends_count:1..999', {}, false],
  ['listed_count:0..5', {}, false],
  ['is:verified', {}, true],
  ['has:profile_geo', {}, true],
  ['profile_country:us', {}, true],
  ['profile_country:DE', {}, false],
  ['profile_region:one', {}, true],
  ['profile_region:one/two', {}, true],
  ['profile_region:"two one"', {}, false],
  ['profile_locality:two', {}, true],
  ['profile_subregion:two', {}, true],
  ['profile_point_radius:[-122.4 37.8 5mi]', {}, true],
  ['profile_point_radius:[-122.4 37.8 1km]', {}, false],
  ['profile_bounding_box:[-122.5 37.7 -122.3 37.9]', {}, true],
  ['profile_bounding_box:[-122.4 37.7 -122.3 37.9]', {}, false],
  ['source:"fog machine"', {}, true],
  ['source:fog', {}, false],
  ['source:"source.com/Fog Machine"', {}, true],
  ['lang:en', {}, true],
  ['lang:de', {}, false],
  ['-lang:und', {}, true],
  ['-lang:und', { lang: 'und' }, false],
  ['lang:he', { lang: 'iw' }, true],
  ['lang:iw', { lang: 'he' }, true],
  ['lang:id', { lang: 'in' }, true],
  ['lang:in', { lang: 'id' }, true],
  ['lang:in', { lang: 'iw' }, false],
  ['lang:pt-br', { lang: 'pt-BR' }, true],
]);

const BOULDER = {
  id: 'fd70c22040963ac7',
  name: 'Boulder',
  country: 'US',
  corner: [-105.3, 40],
} as const;

table('places', [
  ['place:boulder', { place: BOULDER }, true],
  ['place:"boulder, us"', { place: BOULDER }, true],
  ['place:fd70c22040963ac7', { place: BOULDER }, true],
  ['place:bould', { place: BOULDER }, false],
  ['place_country:US', { place: BOULDER }, true],
  ['place_country:us', { place: BOULDER }, true],
  ['place_country:DE', { place: BOULDER }, false],
  ['has:geo', { place: BOULDER }, true],
  ['has:geo', { position: [0, 0] }, true],
  ['has:geo', {}, false],
  ['point_radius:[-105.27 40.02 10mi]', { position: [-105.25, 40] }, true],
  ['point_radius:[-105.27 40.02 10mi]', { position: [-106.25, 40] }, false],
  ['point_radius:[-105.27 40.02 10mi]', { place: BOULDER }, true],
  ['point_radius:[-105.27 40.02 1mi]', { place: BOULDER }, false],
  ['bounding_box:[-105.31 39.99 -105.2 40.1]', { place: BOULDER }, true],
  // Only a part of the place is in the area.
  ['bounding_box:[-105.31 39.99 -105.26 40.1]', { place: BOULDER }, false],
  ['bounding_box:[-105.31 39.99 -105.2 40.1]', { position: [-105.3, 40] }, true],
  ['bounding_box:[-105.31 39.99 -105.2 40.1]', { position: [40, -105.3] }, false],
]);

const toAnna: Part = { mentions: [{ handle: 'Anna', id: '202' }], reply: true };

table('replies, retweets and quotes', [
  ['to:anna', toAnna, true],
  ['to:202', toAnna, true],
  ['to:anna', { mentions: [{ handle: 'Anna', id: '202' }] }, false],
  ['is:reply', toAnna, true],
  ['is:reply', {}, false],
  ['in_reply_to_status_id:6789', toAnna, true],
  ['in_reply_to_status_id:678', toAnna, false],
  ['is:retweet', retweeting({ text: 'snow' }), true],
  ['is:retweet', { text: 'RT @anna: snow' }, false],
  ['retweets_of:anna', retweeting({}), true],
  ['retweets_of:202', retweeting({}), true],
  ['retweets_of:karl_the_fog', retweeting({}), false],
  ['retweets_of_status_id:999', retweeting({ id: '999' }), true],
  ['from:karl_the_fog', retweeting({}), true],
  ['from:anna', retweeting({}), false],
  ['snow', retweeting({ text: 'a long text that is cut somewhere before the snow' }), true],
  ['rt', retweeting({ text: 'snow' }), true],
  ['anna', retweeting({ text: 'snow' }), true],
  ['#snow', retweeting({ hashtags: ['snow'] }), true],
  ['has:links', retweeting({ links: [link('http://a.com')] }), true],
  // A retweet with a link that is not in the retweeted post. The service never sends such a
  // retweet, but other tools can write one.
  [
    'snow',
    {
      ...retweeting({ links: [link('http://b.a')] }),
      links: [link('http://snow.com', { ...unwound, url: 'http://snow.com' })],
    },
    false,
  ],
  ['has:geo', retweeting({ place: BOULDER, position: [0, 0] }), false],
  ['is:reply', retweeting(toAnna), onlyStreams],
  ['is:reply is:retweet', retweeting(toAnna), onlyStreams],
  ['to:anna', retweeting(toAnna), false],
  ['in_reply_to_status_id:6789', retweeting(toAnna), false],
  ['place:boulder', retweeting({ place: BOULDER }), false],
  ['is:quote', quoting({}), true],
  ['is:quote', {}, false],
  ['snow', { text: 'the end of a long text of more than 140 characters: snow', long: true }, true],
  ['#snow', { text: 'a long text', long: true, hashtags: ['snow'] }, true],
]);

table('quoted posts, which only PowerTrack reads', [
  ['snow', quoting({ text: 'snow' }), onlyStreams],
  ['"deep snow"', quoting({ text: 'deep snow' }), onlyStreams],
  ['"look deep"', quoting({ text: 'deep snow' }), false],
  ['"a.com/b"', quoting({ links: [link('http://a.com/b')] }), onlyStreams],
  ['"deep snow"~2', quoting({ text: 'deep, new snow' }), onlyStreams],
  ['look deep', quoting({ text: 'deep snow' }), onlyStreams],
  ['#snow', quoting({ hashtags: ['snow'] }), onlyStreams],
  ['@anna', quoting({ mentions: [{ handle: 'anna', id: '1' }] }), onlyStreams],
  ['$twtr', quoting({ cashtags: ['TWTR'] }), onlyStreams],
  ['url:a.com', quoting({ links: [link('http://a.com')] }), onlyStreams],
  ['url_contains:a.co', quoting({ links: [link('http://a.com')] }), onlyStreams],
  ['has:links', quoting({ links: [link('http://a.com')] }), true],
  ['has:mentions', quoting({ mentions: [{ handle: 'anna', id: '1' }] }), onlyStreams],
  ['has:hashtags', quoting({ hashtags: ['snow'] }), onlyStreams],
  ['has:media', quoting({ media: ['photo'] }), onlyStreams],
  ['has:symbols', quoting({ cashtags: ['TWTR'] }), onlyStreams],
  ['is:reply', quoting(toAnna), onlyStreams],
  ['contains:snow', quoting({ text: 'snow' }), false],
  ['has:images', quoting({ media: ['photo'] }), false],
  ['url_title:read', quoting({ links: [link('http://a.com', unwound)] }), false],
  ['place:boulder', quoting({ place: BOULDER }), false],
  ['lang:de', quoting({ lang: 'de' }), false],
]);

table('combined clauses', [
  ['apple OR iphone ipad', { text: 'apple' }, true],
  ['apple OR iphone ipad', { text: 'iphone' }, false],
  ['ipad iphone OR android', { text: 'android' }, true],
  ['(ipad OR iphone) android', { text: 'android' }, false],
  ['snow -(deep OR old)', { text: 'new snow' }, true],
  ['snow -(deep OR old)', { text: 'old snow' }, false],
  ['snow -"deep snow"', { text: 'deep old snow' }, true],
  ['snow -is:nullcast', { text: 'snow' }, true],
]);

describe('a sample operator', () => {
  const rule = (percent: number) =>
    compileRule(checkRule(`snow sample:${percent}`, { product: 'replay' }).tree!);
  const posts = Array.from({ length: 5_000 }, (_, i) =>
    original({
      ...PLAIN,
      text: 'snow',
      id: String(1_050_118_621_198_921_728n + BigInt(i) * 4_194_304n),
    }),
  );

  it('matches about the requested percentage of all posts', () => {
    for (const percent of [1, 10, 50]) {
      const ratio = posts.filter(rule(percent)).length / posts.length;
      expect(Math.abs(100 * ratio - percent)).toBeLessThan(2);
    }
    expect(posts.filter(rule(100))).toHaveLength(posts.length);
  });

  it('matches every post that a smaller sample matches', () => {
    const ten = new Set(posts.filter(rule(10)));
    expect(posts.filter(rule(5)).every(post => ten.has(post))).toBe(true);
  });
});

describe('a link without a short URL in an activity_streams post', () => {
  it('does not get the target of another link without a short URL', () => {
    const urls = [{ expanded_url: 'http://b.a' }];
    const gnip = { urls: [{ expanded_url: 'http://snow.com' }] };
    const post = { id: 'tag:1', postedTime: 'x', body: '', twitter_entities: { urls }, gnip };
    const activity = new Activity(Buffer.from(JSON.stringify(post)));
    expect(compileRule(parseRule('url:snow').tree!)(activity)).toBe(false);
  });
});

describe('both formats of a post', () => {
  it.each(['search', 'historical'] as const)('are matched by the same rules for %s', product => {
    fc.assert(
      fc.property(arbitraryRule(VOCABULARY), arbitraryDraft(), (tree, draft) => {
        const matches = compileRule(tree, { product });
        expect(matches(streams(draft))).toBe(matches(original(draft)));
      }),
      { numRuns: bySuite(38, 1_600) },
    );
  });
});

it.each(['search', 'historical', 'replay'] as const)(
  'rules match the prefix `RT @handle: ` of a retweet that has `full_text` instead of `text`: %s',
  product => {
    const post = original({ ...PLAIN, ...retweeting({ text: 'snow' }) });
    const json = String(post.raw).replaceAll(/("id_str":"[^"]*"),"text":/g, '$1,"full_text":');
    const extended = new Activity(Buffer.from(json));
    for (const rule of ['RT', 'snow', '"RT snow"~2']) {
      const matches = compileRule(parseRule(rule).tree!, { product });
      expect([matches(post), matches(extended)]).toEqual([true, true]);
    }
  },
);

describe('a post with members of unexpected types', () => {
  const keys = [
    ...['text', 'full_text', 'body', 'user', 'actor', 'entities', 'twitter_entities', 'place'],
    ...['hashtags', 'symbols', 'urls', 'user_mentions', 'media', 'extended_tweet', 'long_object'],
    ...[
      'retweeted_status',
      'quoted_status',
      'object',
      'twitter_quoted_status',
      'coordinates',
      'geo',
    ],
    ...[
      'derived',
      'locations',
      'gnip',
      'profileLocations',
      'address',
      'inReplyTo',
      'link',
      'source',
    ],
    ...[
      'verb',
      'generator',
      'location',
      'bounding_box',
      'id_str',
      'screen_name',
      'unwound',
      'lang',
    ],
  ];
  const { value: junk } = fc.letrec(tie => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom<unknown>(null, 0, true, '', 'share', 'snow'),
      fc.array(tie('value'), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom(...keys), tie('value'), { maxKeys: 8 }),
    ),
  }));
  const products: readonly RuleProduct[] = ['search', 'replay'];

  it('is matched as if these members were absent', () => {
    const rules = [...new Set(['snow', '"a snow"', 'contains:x', 'place:x', 'url:x', 'bio:x'])]
      .concat(['has:geo', 'is:reply', 'to:karl', 'point_radius:[0 0 1mi]', 'has:profile_geo'])
      .map(rule => parseRule(rule).tree!);
    fc.assert(
      fc.property(
        fc.constantFrom('created_at', 'postedTime'),
        fc.dictionary(fc.constantFrom(...keys), junk, { maxKeys: 12 }),
        (time, post) => {
          const activity = new Activity(Buffer.from(JSON.stringify({ ...post, [time]: 'x' })));
          for (const product of products)
            for (const tree of rules) compileRule(tree, { product })(activity);
        },
      ),
      { numRuns: bySuite(25, 1_200) },
    );
  });
});
