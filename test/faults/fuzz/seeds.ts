import type { Random } from '../random.js';

const TEXTS = [
  ...['', 'rain', 'Köln 🌧️', 'a "quoted" \\ word', '\u0000\u001f', '=1+1', '<script>', '\ud83d'],
  ...['9007199254740993', 'Sat Jan 06 20:00:00 +0000 2018', '2018-01-06T20:00:00.000Z', 'null'],
];

export const JSON_TOKENS = ['-1', '1e99', 'null', '{}', '[]', ',', '"__proto__":'];

export function seedJson(random: Random, depth: number): unknown {
  switch (random.whole(0, depth > 0 ? 7 : 5)) {
    case 0:
      return null;
    case 1:
      return random.chance(0.5);
    case 2:
      return random.whole(-1_000, 1_000);
    case 3:
      return random.next() * 10 ** random.whole(-8, 20);
    case 4:
    case 5:
      return random.pick(TEXTS);
    case 6:
      return Array.from({ length: random.whole(0, 4) }, () => seedJson(random, depth - 1));
    default:
      return Object.fromEntries(
        Array.from({ length: random.whole(0, 4) }, () => [
          random.pick(['id', 'id_str', 'a', 'text', 'user', 'k\u0301', 'results', '']),
          seedJson(random, depth - 1),
        ]),
      );
  }
}

export function seedPost(random: Random): string {
  const id = random.pick(['1', '948730000000000001', '18446744073709551615']);
  const text = random.pick(TEXTS);
  const rules = random.chance(0.5)
    ? { matching_rules: [{ tag: random.pick(TEXTS), id: 7, id_str: '7' }] }
    : {};
  const geo = random.chance(0.3)
    ? {
        coordinates: {
          type: 'Point',
          coordinates: [random.whole(-200, 200), random.whole(-100, 100)],
        },
      }
    : {};
  const post = random.chance(0.5)
    ? {
        created_at: 'Sat Jan 06 20:00:00 +0000 2018',
        id: 1,
        id_str: id,
        text,
        lang: 'en',
        ...geo,
        user: { id: 2, id_str: '9007199254740993', screen_name: 'ada', name: random.pick(TEXTS) },
        entities: { hashtags: [{ text: 'x', indices: [0, 2] }], urls: [], user_mentions: [] },
        ...(random.chance(0.2) && {
          edit_history: { initial_tweet_id: id, edit_tweet_ids: [id] },
          edit_controls: { editable_until_ms: '1', edits_remaining: 5 },
        }),
        ...rules,
      }
    : {
        id: `tag:search.twitter.com,2005:${id}`,
        objectType: 'activity',
        verb: random.pick(['post', 'share']),
        postedTime: '2018-01-06T20:00:00.000Z',
        body: text,
        link: 'http://twitter.com/ada/statuses/1',
        actor: {
          id: 'id:twitter.com:2',
          preferredUsername: 'ada',
          displayName: random.pick(TEXTS),
        },
        object: { id: `object:search.twitter.com,2005:${id}`, objectType: 'note' },
        geo: random.chance(0.3) ? { type: 'Point', coordinates: [1.5, -2.5] } : undefined,
        gnip: random.chance(0.5)
          ? { matching_rules: [{ tag: random.pick(TEXTS), id: 7 }], language: { value: 'en' } }
          : undefined,
      };
  return JSON.stringify(post, undefined, random.pick([undefined, undefined, 1]));
}
