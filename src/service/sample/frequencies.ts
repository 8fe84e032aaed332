import { FIRST_POST } from '../../base/time.js';

// How often generated posts are retweets, quotes, replies and edits, and how often they have what: percentages.

export type SampleKind = 'post' | 'reply' | 'retweet' | 'quote' | 'edit';

/** Edit metadata. */
export const EDITS = Date.UTC(2022, 8, 29);

/** The kinds of posts that refer to an earlier one, with their percentage of all posts since the service has had them. */
const KINDS: readonly { readonly kind: SampleKind; readonly percent: number; since: number }[] = [
  { kind: 'retweet', percent: 27, since: Date.UTC(2009, 10, 6) },
  { kind: 'quote', percent: 6, since: Date.UTC(2015, 3, 7) },
  { kind: 'reply', percent: 20, since: FIRST_POST },
  { kind: 'edit', percent: 1, since: EDITS },
];

/** The kind of a post of that time, by a random number from 0 to 100. */
export function kindOf(roll: number, at: number): SampleKind {
  let rest = roll;
  for (const { kind, percent, since } of KINDS) {
    if (rest < percent) return at >= since ? kind : 'post';
    rest -= percent;
  }
  return 'post';
}

/** How many of a hundred posts have it. Tags, links and so on are those of the post itself, not of a shared one. */
export const PERCENT = {
  /** In English, whatever its author's language. */
  english: 7,
  /** Without a sentence. */
  wordless: 3,
  secondSentence: 40,
  thirdSentence: 15,
  /** More than 140 characters, since these are allowed. */
  long: 13,
  emoji: 30,
  emojiIfWordless: 70,
  mention: 8,
  topicTag: 22,
  commonTag: 6,
  cashtag: 2,
  link: 18,
  linkIfWordless: 60,
  media: 15,
  place: 6,
  /** Of the posts with a place: that of the author's city, and an exact position. */
  ownCity: 80,
  position: 30,
  /** With a number of retweets, or of likes. */
  retweeted: 30,
  liked: 50,
} as const;
