import { FIRST_POST, HOUR, MINUTE } from '../../base/time.js';
import { mix, Random, type Seed } from './random.js';
import { SampleAuthors } from './sample-authors.js';
import {
  CASHTAG,
  EMOTION,
  type FragmentList,
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

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

type SampleKind = 'post' | 'reply' | 'retweet' | 'quote' | 'edit';

/** The day since which posts have had edit metadata. */
export const EDITS = Date.UTC(2022, 8, 29);

/**
 * The kinds of posts that refer to an earlier post. `percent` is their share of all posts since the service
 * introduced them.
 */
const KINDS: readonly { readonly kind: SampleKind; readonly percent: number; since: number }[] = [
  { kind: 'retweet', percent: 27, since: Date.UTC(2009, 10, 6) },
  { kind: 'quote', percent: 6, since: Date.UTC(2015, 3, 7) },
  { kind: 'reply', percent: 20, since: FIRST_POST },
  { kind: 'edit', percent: 1, since: EDITS },
];

/** Returns the kind of a post at a time, chosen by a random number from 0 to 100. */
function kindOf(roll: number, at: number): SampleKind {
  let rest = roll;
  for (const { kind, percent, since } of KINDS) {
    if (rest < percent) return at >= since ? kind : 'post';
    rest -= percent;
  }
  return 'post';
}

/**
 * The percentages of posts that have each property. Tags, links and so on belong to the post itself, not to a
 * retweeted post.
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
   * The percentages, among posts with a place, of posts in the author's city and of posts with an
   * exact position.
   */
  ownCity: 80,
  position: 30,
  /** The percentages of posts with at least one retweet, and with at least one like. */
  retweeted: 30,
  liked: 50,
} as const;

/** The data of a post that other posts need: author, time, and the earlier post that it refers to. */
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

/** A post before it is printed. Every choice is an index into a list. */
export interface SampleDraft extends SampleHead, FragmentList {
  readonly language: number;
  /** Whether the text has no sentence, so that the service recognises no language. */
  readonly isWordless: boolean;
  /** The media: 1 to 4 photos, 5 for a video, 6 for an animation. */
  readonly media: number;
  /** The index of a place, or -1. */
  readonly place: number;
  readonly hasPoint: boolean;
  readonly source: number;
  readonly retweets: number;
  readonly likes: number;
}

/** The maximum number of fragments of a text. */
export const MAX_PARTS = 24;

/** A draft that can be changed to the draft of another post, so that an index needs no object for each post. */
export class DraftSlot implements SampleDraft {
  at = 0;
  minute = 0;
  index = 0;
  author = 0;
  kind: SampleKind = 'post';
  target: SampleHead | undefined = undefined;
  language = 0;
  isWordless = false;
  readonly parts: Int32Array = new Int32Array(MAX_PARTS);
  partCount = 0;
  media = 0;
  place = -1;
  hasPoint = false;
  source = 0;
  retweets = 0;
  likes = 0;

  add(key: number): void {
    this.parts[this.partCount++] = key;
  }

  remove(at: number): void {
    this.parts.copyWithin(at, at + 1, this.partCount--);
  }
}

// The days on which the service introduced features.
const PLACED = Date.UTC(2010, 2, 11);
const PHOTOS = Date.UTC(2011, 7, 9);
const SYMBOLS = Date.UTC(2012, 6, 31);
const VIDEOS = Date.UTC(2015, 0, 27);
/** Since this day, a post may have more than 140 characters. Its `text` is truncated. */
export const LONG_TEXTS = Date.UTC(2017, 10, 7);
/** Since this day, posts contain the titles and descriptions of linked pages, and topics of influence. */
export const ENRICHED = Date.UTC(2016, 6, 29);

/**
 * The time after which posts are hardly ever retweeted or replied to, except by a chain of retweets, in
 * milliseconds.
 */
export const REACTIONS = 12 * HOUR;

/** The first post of every eighth minute is popular. */
const POPULAR = 8;
/** The number of popular posts to cache. They cover a longer time than `REACTIONS`. */
const CACHED_POSTS = 128;
const placeOf = (minute: number): number => (minute / POPULAR) & (CACHED_POSTS - 1);

/** The number of posts in each hour of the day (UTC), relative to the mean. */
const HOURS = [
  1.05, 1.1, 1.15, 1.1, 1.0, 0.9, 0.8, 0.75, 0.75, 0.8, 0.85, 0.95, 1.05, 1.1, 1.15, 1.15, 1.1,
  1.05, 1.05, 1.05, 1.05, 1.0, 1.0, 1.05,
];

/**
 * The drafts of the posts of one seed. Each minute is independent of all others, and nothing is
 * stored.
 */
export class SampleDrafts {
  readonly authors: SampleAuthors;
  readonly fragments: SampleFragments;
  readonly #seed: Seed;
  readonly #postsPerMinute: number;
  readonly #random = new Random();
  /** The last popular posts, which many other posts refer to. The position of each depends on its minute. */
  readonly #heads = new Array<SampleHead | undefined>(CACHED_POSTS);
  readonly #drafts = new Array<SampleDraft | undefined>(CACHED_POSTS);

  constructor(seed: Seed, postsPerMinute: number) {
    this.#seed = seed;
    this.#postsPerMinute = postsPerMinute;
    this.authors = new SampleAuthors(seed);
    this.fragments = new SampleFragments(this.authors);
  }

  /**
   * Returns the number of posts in a minute, which is counted from 1970. Some minutes are rounded up, so that
   * the mean is exact.
   */
  countAt(minute: number): number {
    if (minute * MINUTE < FIRST_POST) return 0;
    const mean = this.#postsPerMinute * (HOURS[Math.floor(minute / 60) % 24] as number);
    return Math.floor(mean + (mix(minute ^ this.#seed.a) >>> 0) / 0x1_0000_0000);
  }

  /** Returns the time of the post with this index in a minute, in epoch milliseconds. */
  timeOf(minute: number, index: number): number {
    const within = index + this.#random.seed(this.#seed, minute, index).unit() * 0.9;
    return minute * MINUTE + Math.floor((within * MINUTE) / this.countAt(minute));
  }

  head(minute: number, index: number): SampleHead {
    return this.#readHead(minute, index, {
      at: 0,
      minute,
      index,
      author: 0,
      kind: 'post',
      target: undefined,
    });
  }

  #readHead<Head extends Mutable<SampleHead>>(minute: number, index: number, into: Head): Head {
    const at = this.timeOf(minute, index);
    const random = this.#random;
    const start = minute * MINUTE;
    const roll = random.unit() * 100;
    const author = random.skewed(SampleAuthors.countAt(start));
    const back = random.unit();
    const which = random.next();
    const kind = kindOf(roll, at);
    const target = kind === 'post' ? undefined : this.#targetOf(kind, minute, back, which);
    into.at = at;
    into.minute = minute;
    into.index = index;
    into.kind = target === undefined ? 'post' : kind;
    // The author of an edit is the author of the edited post.
    into.author = kind === 'edit' && target !== undefined ? target.author : author;
    into.target = target;
    return into;
  }

  /** @param into This object is changed to the draft, and returned. */
  draft(minute: number, index: number, into: DraftSlot = new DraftSlot()): SampleDraft {
    return this.#readDraft(this.#readHead(minute, index, into));
  }

  /** @param into This object is changed to the draft, and returned. */
  draftOf(head: SampleHead, into: DraftSlot = new DraftSlot()): SampleDraft {
    into.at = head.at;
    into.minute = head.minute;
    into.index = head.index;
    into.author = head.author;
    into.kind = head.kind;
    into.target = head.target;
    return this.#readDraft(into);
  }

  /** Completes a draft that only has its head. */
  #readDraft(draft: DraftSlot): SampleDraft {
    const { kind, target, at } = draft;
    const edited = kind === 'edit' && target !== undefined ? this.draftOf(target) : undefined;
    const random = this.#random.seed(this.#seed, draft.minute, -1 - draft.index);
    draft.partCount = 0;
    if (edited !== undefined) return this.#edit(draft, edited, random);
    draft.language = random.chance(PERCENT.english) ? 0 : this.authors.languageOf(draft.author);
    draft.isWordless = random.chance(PERCENT.wordless);
    draft.media =
      kind === 'retweet' || at < PHOTOS || !random.chance(PERCENT.media) ? 0 : mediaOf(random, at);
    const isPlaced = kind !== 'retweet' && at >= PLACED && random.chance(PERCENT.place);
    draft.place = !isPlaced
      ? -1
      : random.chance(PERCENT.ownCity)
        ? this.authors.cityOf(draft.author)
        : random.below(PLACES.length);
    draft.hasPoint = isPlaced && random.chance(PERCENT.position);
    draft.source = random.skewed(SOURCES.length);
    draft.retweets = random.chance(PERCENT.retweeted) ? random.skewed(40) : 0;
    draft.likes = random.chance(PERCENT.liked) ? random.skewed(200) : 0;
    if (kind !== 'retweet') this.#write(draft, random);
    return draft;
  }

  /** Returns the draft of a post that another post refers to. */
  targetDraft(head: SampleHead, into?: DraftSlot): SampleDraft {
    if (head.index > 0 || head.minute % POPULAR > 0) return this.draftOf(head, into);
    const known = this.#drafts[placeOf(head.minute)];
    if (known?.minute === head.minute) return known;
    const draft = this.draftOf(head);
    this.#drafts[placeOf(head.minute)] = draft;
    return draft;
  }

  /** Returns the first post of a minute that is a multiple of `POPULAR`. */
  #popularHead(minute: number): SampleHead {
    const known = this.#heads[placeOf(minute)];
    if (known?.minute === minute) return known;
    const head = this.head(minute, 0);
    this.#heads[placeOf(minute)] = head;
    return head;
  }

  /**
   * Creates an edit: the edited post with a remark added. If the remark makes the text too long, the edit has no
   * remark, and lacks the last fragment of the edited post.
   */
  #edit(draft: DraftSlot, edited: SampleDraft, random: Random): SampleDraft {
    const { language, partCount } = edited;
    draft.language = language;
    draft.isWordless = edited.isWordless;
    draft.media = edited.media;
    draft.place = edited.place;
    draft.hasPoint = edited.hasPoint;
    draft.source = edited.source;
    draft.retweets = 0;
    draft.likes = 0;
    draft.parts.set(edited.parts);
    draft.partCount = partCount;
    draft.add(remarkKey(language, random.below(languageAt(language).remarks.length)));
    if (this.fragments.lengthOf(draft) > 280) draft.partCount = Math.max(partCount - 1, 0);
    return draft;
  }

  /** Returns the head of a post that is up to six hours earlier, often one of the few popular posts. */
  #targetOf(kind: SampleKind, minute: number, back: number, which: number): SampleHead | undefined {
    const span = kind === 'edit' ? 28 : 360;
    let earlier = minute - 1 - Math.floor(back * back * span);
    const isPopular = (which & 1) === 1 && kind !== 'edit';
    if (isPopular) earlier -= earlier % POPULAR;
    const count = this.countAt(earlier);
    if (count === 0) return undefined;
    const head = isPopular ? this.#popularHead(earlier) : this.head(earlier, (which >>> 1) % count);
    if (kind === 'edit') return head.kind === 'post' && head.at >= EDITS ? head : undefined;
    return head.kind === 'retweet' ? head.target : head;
  }

  #write(draft: DraftSlot, random: Random): void {
    const { language, isWordless, at } = draft;
    const words = languageAt(language);
    const topic = random.skewed(TOPICS);
    if (draft.kind === 'reply' && draft.target !== undefined)
      draft.add(fragmentKey(MENTION, draft.target.author));
    const body = draft.partCount;
    if (!isWordless) {
      const isLong = at >= LONG_TEXTS && random.chance(PERCENT.long);
      const sentences = isLong
        ? 4 + random.below(3)
        : 1 +
          Number(random.chance(PERCENT.secondSentence)) +
          Number(random.chance(PERCENT.thirdSentence));
      for (let i = 0; i < sentences; i++) writeOne(draft, random, language, words, topic);
    }
    const end = draft.partCount;
    if (random.chance(isWordless ? PERCENT.emojiIfWordless : PERCENT.emoji))
      draft.add(fragmentKey(EMOTION, random.skewed(EMOJI.length)));
    if (random.chance(PERCENT.mention))
      draft.add(fragmentKey(MENTION, random.skewed(SampleAuthors.countAt(draft.minute * MINUTE))));
    if (random.chance(PERCENT.topicTag)) draft.add(tagKey(language, topic * 4 + random.below(4)));
    if (random.chance(PERCENT.commonTag))
      draft.add(tagKey(0, WORDS + random.skewed(COMMON_TAGS.length)));
    if (at >= SYMBOLS && random.chance(PERCENT.cashtag))
      draft.add(fragmentKey(CASHTAG, random.skewed(CASHTAGS.length)));
    if (random.chance(isWordless ? PERCENT.linkIfWordless : PERCENT.link))
      draft.add(fragmentKey(LINK, random.skewed(LINKS)));
    if (draft.partCount === body) draft.add(fragmentKey(EMOTION, random.below(EMOJI.length)));
    // The limit was 140 characters before it became 280. Links to media and to a quoted post take 24 characters
    // each.
    const limit = at >= LONG_TEXTS ? 280 : 92;
    let sentence = end;
    while (this.fragments.lengthOf(draft) > limit)
      draft.remove(--sentence < body ? body : sentence);
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
  draft: DraftSlot,
  random: Random,
  language: number,
  words: SampleLanguage,
  topic: number,
): void {
  const roll = random.below(100);
  if (roll < 18) {
    draft.add(remarkKey(language, random.below(words.remarks.length)));
  } else if (roll < 30) {
    draft.add(leadKey(language, random.below(words.leads.length)));
    draft.add(fragmentKey(NAME, random.skewed(NAMES)));
  } else {
    const word = (random.chance(75) ? topic : random.below(TOPICS)) * 4 + random.below(4);
    draft.add(sentenceKey(language, random.below(words.sentences.length), word, roll > 92));
  }
}

// The percentages of generated posts that are retweets, quotes, replies and edits, and that have certain properties.
