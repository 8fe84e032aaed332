import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseExact } from '../../src/json/exact-ids.js';
import { Activity } from '../../src/post/activity.js';
import { parseInStreamMessage } from '../../src/post/in-stream-message.js';
import { unchecked } from '../unchecked.js';

/** A folder with posts/*.jsonl that the service delivered from 2011 to 2018. */
const folder = process.env.MILLRACE_REAL_DATA;

function activitiesOf(file: string): Activity[] {
  const text = readFileSync(join(folder ?? '', 'posts', file), 'utf8');
  return text
    .split('\n')
    .filter(line => line !== '')
    .map(line => new Activity(Buffer.from(line)));
}

const originals = ['original-simdjson.jsonl', 'original-tweet-parser.jsonl'];
const streams = ['activity-gnacs.jsonl', 'activity-gnip4j.jsonl', 'activity-tweet-parser.jsonl'];

type Fields = { [key: string]: Fields & string };

function parsed(post: Fields, original: boolean): object {
  const id = String(original ? post.id_str : post.id?.split(':').at(-1));
  const user = original ? post.user : post.actor;
  const shared = original ? post.retweeted_status : post.verb === 'share' ? post.object : undefined;
  const quoted = original ? post.quoted_status : post.twitter_quoted_status;
  const rules = unchecked<Fields[] | undefined>((original ? post : post.gnip)?.matching_rules);
  return {
    id,
    postedAt: new Date(String(post.created_at ?? post.postedTime)),
    text: original
      ? (post.extended_tweet?.full_text ?? post.text)
      : (post.long_object?.body ?? post.body),
    author: original
      ? { id: user?.id_str, handle: user?.screen_name, name: user?.name }
      : {
          id: user?.id?.split(':').at(-1),
          handle: user?.preferredUsername,
          name: user?.displayName,
        },
    lang: original ? post.lang : (post.twitter_lang ?? post.gnip?.language?.value),
    verb: shared === undefined ? 'post' : 'share',
    rules: (rules ?? []).map(({ tag, value }) => ({ tag, value })),
    retweeted: shared && parsed(shared, original),
    quoted: quoted && parsed(quoted, original),
  };
}

interface Said extends Pick<Activity, 'id' | 'postedAt' | 'text' | 'author' | 'lang' | 'verb'> {
  readonly rules: object;
  readonly retweeted: Said | undefined;
  readonly quoted: Said | undefined;
}

function said(activity: Activity): Said {
  const { id, postedAt, text, author, lang, verb, retweeted, quoted, matchingRules } = activity;
  return {
    id,
    postedAt,
    text,
    author,
    lang,
    verb,
    rules: matchingRules.map(({ tag, value }) => ({ tag, value })),
    retweeted: retweeted && said(retweeted),
    quoted: quoted && said(quoted),
  };
}

describe.skipIf(folder === undefined)('Activity with real posts (needs MILLRACE_REAL_DATA)', () => {
  it.each([...originals, ...streams])(
    'has the same properties as the parsed post, for every post of %s',
    file => {
      const activities = activitiesOf(file);
      expect(activities.length).toBeGreaterThan(0);
      for (const activity of activities) {
        const original = file.startsWith('original');
        expect(activity.format).toBe(original ? 'original' : 'activity_streams');
        expect(said(activity)).toEqual(parsed(JSON.parse(activity.raw.toString()), original));
        expect(activity.post).toEqual(parseExact(activity.raw));
        expect(parseInStreamMessage(activity.raw)).toBeUndefined();
        const rules = [{ tag: 'x', id: '9223372036854775807' }];
        expect(activity.withMatchingRules(rules).matchingRules).toEqual(rules);
      }
    },
  );

  it('has the same properties for the same post in both formats', () => {
    const [a = [], b = []] = ['original-tweet-parser.jsonl', 'activity-tweet-parser.jsonl'].map(
      file => activitiesOf(file).map(said),
    );
    expect(a.length).toBe(11);
    // The two formats truncate the text of a retweet at different places, so only the start is
    // compared. The full text is in the retweeted post.
    const comparable = (post: Said): object => ({
      ...post,
      text: post.verb === 'share' ? post.text.slice(0, 130) : post.text,
      retweeted: post.retweeted && comparable(post.retweeted),
    });
    expect(b.map(comparable)).toEqual(a.map(comparable));
  });

  it('has the same properties whatever the order of the members', () => {
    const activities = [...originals, ...streams].flatMap(activitiesOf);
    fc.assert(
      fc.property(
        fc.constantFrom(...activities),
        fc.infiniteStream(fc.nat()),
        (activity, order) => {
          const members = JSON.parse(activity.raw.toString(), (_key, value) =>
            typeof value === 'number' && !Number.isSafeInteger(value) ? Math.trunc(value) : value,
          ) as Fields;
          const keys = Object.keys(members)
            .map(key => ({ key, at: order.next().value ?? 0 }))
            .sort((a, b) => a.at - b.at);
          const shuffled = Object.fromEntries(keys.map(({ key }) => [key, members[key]]));
          const again = new Activity(Buffer.from(JSON.stringify(shuffled, null, 1)));
          expect(said(again)).toEqual(said(activity));
        },
      ),
    );
  });
});
