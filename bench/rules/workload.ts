import { Activity } from 'millrace';
import { samplePosts } from 'millrace/service';

/** A condition that all engines in this benchmark can express. */
export interface Condition {
  readonly kind: 'word' | 'phrase' | 'hashtag' | 'from' | 'mention' | 'lang' | 'links' | 'original';
  readonly text: string;
}

/** A rule, as a list of groups. In every group, at least one condition must match. */
export type BenchRule = readonly (readonly Condition[])[];

export interface Workload {
  readonly posts: readonly Buffer[];
  rule(): BenchRule;
}

const VOCABULARY = 100_000;
const START = Date.UTC(2022, 9, 3, 6);

/**
 * Returns posts of the sample archive with different words. The posts have a realistic size and
 * structure, but the sample archive has a small vocabulary. Therefore, their words are replaced by
 * words from a vocabulary of 100,000, distributed by Zipf's law.
 */
export function workload(count: number): Workload {
  const random = seeded(1);
  const words = vocabulary(random);
  const posts: Buffer[] = [];
  for (let minute = 0; posts.length < count; minute++)
    for (const post of samplePosts(START + minute * 60_000, { postsPerMinute: 200 }))
      if (posts.length < count) posts.push(withWords(post, words, random));

  const seen = posts.slice(0, 5_000).map(raw => new Activity(raw));
  const authors = [...new Set(seen.map(post => post.author.handle.toLowerCase()))];
  const tags = [...new Set(seen.flatMap(hashtagsOf))].filter(tag => /^[a-z]+$/.test(tag));
  return { posts, rule: () => arbitraryRule(random, words, authors, tags) };
}

function arbitraryRule(
  random: () => number,
  words: readonly string[],
  authors: readonly string[],
  tags: readonly string[],
): BenchRule {
  const pick = (list: readonly string[]) => list[Math.floor(random() * list.length)] as string;
  // Rules contain rare words, because nobody searches for `the`.
  const word = (from = 300): Condition => ({
    kind: 'word',
    text: words[logarithmic(random(), from, VOCABULARY)] as string,
  });
  const phrase = (): Condition => ({ kind: 'phrase', text: `${word().text} ${word().text}` });
  const from = (): Condition => ({ kind: 'from', text: pick(authors) });
  const mention = (): Condition => ({ kind: 'mention', text: pick(authors) });
  const hashtag = (): Condition => ({ kind: 'hashtag', text: pick(tags) });
  const english: Condition = { kind: 'lang', text: 'en' };
  const links: Condition = { kind: 'links', text: 'yes' };
  const original: Condition = { kind: 'original', text: 'yes' };
  const shape = random();
  if (shape < 0.25) return [[word()], [word()], [word()]];
  if (shape < 0.4) return [[word(), word(), word()], [word()]];
  if (shape < 0.45) return [[word(3_000), word(3_000), word(3_000), word(3_000)]];
  if (shape < 0.5) return [[word(50)], [word()], [english]];
  if (shape < 0.65) return [[phrase()], [english]];
  if (shape < 0.75) return [[word()], [links], [original]];
  if (shape < 0.85) return [[hashtag()], [word(), word()], [original]];
  if (shape < 0.95) return [[from()], [word()]];
  return [[mention()], [word(), phrase()]];
}

function withWords(post: Activity, words: readonly string[], random: () => number): Buffer {
  const length = 5 + Math.floor(random() * 20);
  const text = Array.from(
    { length },
    () => words[logarithmic(random(), 1, VOCABULARY)] as string,
  ).join(' ');
  const json = JSON.parse(post.raw.toString());
  const content = json.retweeted_status ?? json;
  if (content.extended_tweet === undefined) content.text = text;
  else content.extended_tweet.full_text = text;
  return Buffer.from(JSON.stringify(json));
}

function hashtagsOf(activity: Activity): string[] {
  const { post } = activity;
  if (!('entities' in post)) return [];
  return post.entities.hashtags.map(tag => tag.text.toLowerCase());
}

/**
 * Draws a number by Zipf's law: numbers from 1 to 10 are as frequent as numbers from 10,000 to
 * 100,000.
 */
function logarithmic(random: number, from: number, to: number): number {
  return Math.floor(from * (to / from) ** random) - 1;
}

/**
 * Returns common English words, followed by invented words that can be pronounced. Rarer words are
 * longer.
 */
function vocabulary(random: () => number): readonly string[] {
  const common =
    'the to a i and in of you is for my it on that me this just with be so at like have are not but ' +
    'up was all out we your when rt if do love get its what can now im good know no go from';
  const words = new Set(common.split(' '));
  const consonants = 'b c d f g h k l m n p r s t v w z st tr pl'.split(' ');
  const vowels = 'a e i o u ai ou'.split(' ');
  const any = (list: readonly string[]) => list[Math.floor(random() * list.length)] as string;
  while (words.size < VOCABULARY) {
    let word = '';
    const syllables = 1 + Math.min(3, Math.floor(Math.log10(words.size)));
    for (let i = 0; i < syllables; i++) word += any(consonants) + any(vowels);
    words.add(random() < 0.5 ? word : word + any(consonants));
  }
  return [...words];
}

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}
