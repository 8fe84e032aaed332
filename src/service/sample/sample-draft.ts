import { FIRST_POST, HOUR, MINUTE } from '../../base/time.js';
import { mix, Random, type Seed } from './random.js';
import { SampleAuthors } from './sample-authors.js';
import {
  CASHTAG,
  EMOTION,
  fragmentKey,
  LINK,
  leadKey,
  MENTION,
  NAME,
  remarkKey,
  SampleFragments,
  sentenceKey,
  tagKey,
  WORDS,
} from './sample-fragments.js';
import { SNOWFLAKES, snowflake } from './sample-ids.js';
import {
  CASHTAGS,
  COMMON_TAGS,
  EMOJI,
  LINKS,
  languageAt,
  NAMES,
  PLACES,
  type SampleLanguage,
  SOURCES,
  TOPICS,
} from './sample-vocabulary.js';

type SampleKind = 'post' | 'reply' | 'retweet' | 'quote' | 'edit';

/** The day since which posts have had edit metadata. */
export const EDITS = Date.UTC(2022, 8, 29);

/**
 * The kinds of posts that refer to an earlier post. `percent` is their percentage of all posts since the
 * service introduced the kind.
 */
const KINDS: readonly { readonly kind: SampleKind; readonly percent: number; since: number }[] = [
  { kind: 'retweet', percent: 27, since: Date.UTC(2009, 10, 6) },
  { kind: 'quote', percent: 6, since: Date.UTC(2015, 3, 7) },
  { kind: 'reply', percent: 20, since: FIRST_POST },
  { kind: 'edit', percent: 1, since: EDITS },
];

/**
 * Chooses the kind of a post by a random number from 0 to 100. Returns `'post'` if the chosen kind did not exist
 * yet at the time of the post.
 */
function kindOf(roll: number, at: number): SampleKind {
  let rest = roll;
  for (const { kind, percent, since } of KINDS) {
    if (rest < percent) return at >= since ? kind : 'post';
    rest -= percent;
  }
  return 'post';
}

/**
 * The percentages of posts that have each property. For the properties of the text, retweets are not counted,
 * because a retweet repeats the text of another post.
 */
const PERCENT = {
  /** The percentage of English posts among the posts of authors whose language is not English. */
  english: 7,
  /** The percentage of posts that contain no sentence. */
  wordless: 3,
  secondSentence: 40,
  thirdSentence: 15,
  /** The percentage of posts with more than 140 characters, from the day on which the service first allowed them. */
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
  /**
   * Among posts with a place: the percentage of posts in the author's city, and of posts with an exact
   * position.
   */
  ownCity: 80,
  position: 30,
  /** The percentages of posts with at least one retweet, and with at least one like. */
  retweeted: 30,
  liked: 50,
} as const;

/** A generated post without its content: its time, its author, and the earlier post that it refers to. */
export interface SampleHead {
  /** The time in epoch milliseconds. */
  readonly at: number;
  readonly minute: number;
  readonly index: number;
  readonly author: number;
  readonly kind: SampleKind;
  /** The post that this post retweets, quotes, replies to or edits. It is always earlier, and never a retweet. */
  readonly target: SampleHead | undefined;
}

/**
 * A generated post before it is printed. Its language, place, source and so on are indices into lists of the
 * vocabulary.
 */
export interface SampleDraft extends SampleHead {
  readonly language: number;
  /** Whether the text has no sentence, so that the service recognises no language. */
  readonly isWordless: boolean;
  /** The keys of the fragments that form the text (sentences, tags, links and so on), in order. */
  readonly parts: readonly number[];
  /** 0 for no media, 1 to 4 for the number of photos, 5 for a video, 6 for an animation. */
  readonly media: number;
  /** The index of a place, or -1. */
  readonly place: number;
  readonly hasPoint: boolean;
  readonly source: number;
  readonly retweets: number;
  readonly likes: number;
}

// The days on which the service introduced features.
const PLACED = Date.UTC(2010, 2, 11);
const PHOTOS = Date.UTC(2011, 7, 9);
const SYMBOLS = Date.UTC(2012, 6, 31);
const VIDEOS = Date.UTC(2015, 0, 27);
/** Since this day, a post may have more than 140 characters. Its `text` is truncated. */
export const LONG_TEXTS = Date.UTC(2017, 10, 7);
/**
 * Since this day, posts contain the titles and descriptions of linked pages, and the topics in which their
 * authors have influence.
 */
export const ENRICHED = Date.UTC(2016, 6, 29);

/**
 * Nearly all retweets and replies follow a post within this time, in milliseconds. Only a chain of retweets
 * can take longer.
 */
export const REACTIONS = 12 * HOUR;

/** The first post of every eighth minute is popular. */
const POPULAR = 8;
/**
 * The number of popular posts to cache. With one popular post every 8 minutes, the cache covers 17 hours.
 * Retweets and replies rarely follow a post after more than `REACTIONS` (12 hours).
 */
const CACHED_POSTS = 128;
const placeOf = (minute: number): number => (minute / POPULAR) & (CACHED_POSTS - 1);

/** The number of posts in each hour of the day (UTC), relative to the mean. */
const HOURS = [
  1.05, 1.1, 1.15, 1.1, 1.0, 0.9, 0.8, 0.75, 0.75, 0.8, 0.85, 0.95, 1.05, 1.1, 1.15, 1.15, 1.1,
  1.05, 1.05, 1.05, 1.05, 1.0, 1.0, 1.05,
];

/**
 * Generates drafts of posts from a seed. The posts of a minute are always the same, in whatever order minutes
 * are generated.
 */
export class SampleDrafts {
  readonly authors: SampleAuthors;
  readonly fragments: SampleFragments;
  readonly #seed: Seed;
  readonly #postsPerMinute: number;
  readonly #random = new Random();
  /**
   * A cache of the most recently generated popular posts, which many other posts refer to. A post from
   * `minute` is at the index `placeOf(minute)`.
   */
  readonly #heads = new Array<SampleHead | undefined>(CACHED_POSTS);
  readonly #drafts = new Array<SampleDraft | undefined>(CACHED_POSTS);

  constructor(seed: Seed, postsPerMinute: number) {
    this.#seed = seed;
    this.#postsPerMinute = postsPerMinute;
    this.authors = new SampleAuthors(seed);
    this.fragments = new SampleFragments(this.authors);
  }

  /**
   * Returns the number of posts in a minute. The mean for the hour of the day may have a fraction, so it is
   * rounded up in some minutes and down in others.
   *
   * @param minute The number of the minute, counted from 1970.
   */
  countAt(minute: number): number {
    if (minute * MINUTE < FIRST_POST) return 0;
    const mean = this.#postsPerMinute * (HOURS[((minute / 60) | 0) % 24] as number);
    return Math.floor(mean + (mix(minute ^ this.#seed.a) >>> 0) / 0x1_0000_0000);
  }

  /** Returns the time of the post with this index in a minute, in epoch milliseconds. */
  timeOf(minute: number, index: number): number {
    const within = index + this.#random.seed(this.#seed, minute, index).unit() * 0.9;
    return minute * MINUTE + Math.floor((within * MINUTE) / this.countAt(minute));
  }

  head(minute: number, index: number): SampleHead {
    const at = this.timeOf(minute, index);
    const random = this.#random;
    const start = minute * MINUTE;
    const roll = random.unit() * 100;
    const author = random.skewed(SampleAuthors.countAt(start));
    const back = random.unit();
    const which = random.next();
    const kind = kindOf(roll, at);
    const target = kind === 'post' ? undefined : this.#targetOf(kind, minute, back, which);
    if (target === undefined) return { at, minute, index, author, kind: 'post', target };
    // The author of an edit is the author of the edited post.
    return { at, minute, index, author: kind === 'edit' ? target.author : author, kind, target };
  }

  draft(minute: number, index: number): SampleDraft {
    return this.draftOf(this.head(minute, index));
  }

  draftOf(head: SampleHead): SampleDraft {
    const { kind, target, at } = head;
    const edited = kind === 'edit' && target !== undefined ? this.draftOf(target) : undefined;
    const random = this.#random.seed(this.#seed, head.minute, -1 - head.index);
    if (edited !== undefined) return this.#edit(head, edited, random);
    const language = random.chance(PERCENT.english) ? 0 : this.authors.languageOf(head.author);
    const isWordless = random.chance(PERCENT.wordless);
    const media =
      kind === 'retweet' || at < PHOTOS || !random.chance(PERCENT.media) ? 0 : mediaOf(random, at);
    const isPlaced = kind !== 'retweet' && at >= PLACED && random.chance(PERCENT.place);
    const place = !isPlaced
      ? -1
      : random.chance(PERCENT.ownCity)
        ? this.authors.cityOf(head.author)
        : random.below(PLACES.length);
    const hasPoint = isPlaced && random.chance(PERCENT.position);
    const source = random.skewed(SOURCES.length);
    const retweets = random.chance(PERCENT.retweeted) ? random.skewed(40) : 0;
    const likes = random.chance(PERCENT.liked) ? random.skewed(200) : 0;
    const parts = kind === 'retweet' ? [] : this.#write(head, language, isWordless, random);
    // The members of `head` are listed, because `...head` would double the time to index a month of posts.
    return {
      at,
      minute: head.minute,
      index: head.index,
      author: head.author,
      kind,
      target,
      language,
      isWordless,
      parts,
      media,
      place,
      hasPoint,
      source,
      retweets,
      likes,
    };
  }

  /** Returns the draft of a post to which another post refers. Drafts of popular posts are cached. */
  targetDraft(head: SampleHead): SampleDraft {
    if (head.index > 0 || head.minute % POPULAR > 0) return this.draftOf(head);
    const known = this.#drafts[placeOf(head.minute)];
    if (known?.minute === head.minute) return known;
    const draft = this.draftOf(head);
    this.#drafts[placeOf(head.minute)] = draft;
    return draft;
  }

  /** Returns the head of the popular post of a minute. `minute` is a multiple of `POPULAR`. */
  #popularHead(minute: number): SampleHead {
    const known = this.#heads[placeOf(minute)];
    if (known?.minute === minute) return known;
    const head = this.head(minute, 0);
    this.#heads[placeOf(minute)] = head;
    return head;
  }

  /**
   * Creates an edit: the edited post with a remark added. If the text is then too long, removes the remark
   * and the last fragment of the edited text.
   */
  #edit(head: SampleHead, edited: SampleDraft, random: Random): SampleDraft {
    const { language } = edited;
    const remark = remarkKey(language, random.below(languageAt(language).remarks.length));
    const parts = [...edited.parts, remark];
    if (this.fragments.lengthOf(parts) > 280) parts.splice(-2);
    return { ...edited, ...head, parts, retweets: 0, likes: 0 };
  }

  /**
   * Returns the head of the earlier post to which a post of this minute refers. The earlier post is up to
   * about 6 hours older, or 28 minutes for an edit. Half of the posts refer to a popular post, except for
   * edits. If the chosen post is a retweet, returns the retweeted post.
   */
  #targetOf(kind: SampleKind, minute: number, back: number, which: number): SampleHead | undefined {
    const span = kind === 'edit' ? 28 : 360;
    let earlier = minute - 1 - ((back * back * span) | 0);
    const isPopular = (which & 1) === 1 && kind !== 'edit';
    if (isPopular) earlier -= earlier % POPULAR;
    const count = this.countAt(earlier);
    if (count === 0) return undefined;
    const head = isPopular ? this.#popularHead(earlier) : this.head(earlier, (which >>> 1) % count);
    if (kind === 'edit') return head.kind === 'post' && head.at >= EDITS ? head : undefined;
    return head.kind === 'retweet' ? head.target : head;
  }

  #write(head: SampleHead, language: number, isWordless: boolean, random: Random): number[] {
    const words = languageAt(language);
    const topic = random.skewed(TOPICS);
    const parts: number[] = [];
    if (head.kind === 'reply' && head.target !== undefined)
      parts.push(fragmentKey(MENTION, head.target.author));
    const body = parts.length;
    if (!isWordless) {
      const isLong = head.at >= LONG_TEXTS && random.chance(PERCENT.long);
      const sentences = isLong
        ? 4 + random.below(3)
        : 1 +
          Number(random.chance(PERCENT.secondSentence)) +
          Number(random.chance(PERCENT.thirdSentence));
      for (let i = 0; i < sentences; i++) writeOne(parts, random, language, words, topic);
    }
    const end = parts.length;
    if (random.chance(isWordless ? PERCENT.emojiIfWordless : PERCENT.emoji))
      parts.push(fragmentKey(EMOTION, random.skewed(EMOJI.length)));
    if (random.chance(PERCENT.mention))
      parts.push(fragmentKey(MENTION, random.skewed(SampleAuthors.countAt(head.minute * MINUTE))));
    if (random.chance(PERCENT.topicTag)) parts.push(tagKey(language, topic * 4 + random.below(4)));
    if (random.chance(PERCENT.commonTag))
      parts.push(tagKey(0, WORDS + random.skewed(COMMON_TAGS.length)));
    if (head.at >= SYMBOLS && random.chance(PERCENT.cashtag))
      parts.push(fragmentKey(CASHTAG, random.skewed(CASHTAGS.length)));
    if (random.chance(isWordless ? PERCENT.linkIfWordless : PERCENT.link))
      parts.push(fragmentKey(LINK, random.skewed(LINKS)));
    if (parts.length === body) parts.push(fragmentKey(EMOTION, random.below(EMOJI.length)));
    // Posts were limited to 140 characters, and later to 280. Within the 140, links to media and to a quoted
    // post took 24 characters each, so words could take 92.
    const limit = head.at >= LONG_TEXTS ? 280 : 92;
    let sentence = end;
    while (this.fragments.lengthOf(parts) > limit)
      parts.splice(--sentence < body ? body : sentence, 1);
    return parts;
  }
}

/** Returns the id of a post. Ids ascend by minute and index. Since `SNOWFLAKES`, they are based on the time. */
export function idOf({ at, minute, index }: SampleHead): string {
  if (at < SNOWFLAKES) return String(20 + (minute - FIRST_POST / MINUTE) * 12_200 + index);
  return snowflake(at, ((mix(minute) & 0x3ff) << 12) | (index & 0xfff));
}

function mediaOf(random: Random, at: number): number {
  const kind = random.below(10);
  if (kind < 8 || at < VIDEOS) return kind < 6 ? 1 : 1 + random.below(4);
  return kind === 8 ? 5 : 6;
}

function writeOne(
  parts: number[],
  random: Random,
  language: number,
  words: SampleLanguage,
  topic: number,
): void {
  const roll = random.below(100);
  if (roll < 18) {
    parts.push(remarkKey(language, random.below(words.remarks.length)));
  } else if (roll < 30) {
    parts.push(leadKey(language, random.below(words.leads.length)));
    parts.push(fragmentKey(NAME, random.skewed(NAMES)));
  } else {
    const word = (random.chance(75) ? topic : random.below(TOPICS)) * 4 + random.below(4);
    parts.push(sentenceKey(language, random.below(words.sentences.length), word, roll > 92));
  }
}
