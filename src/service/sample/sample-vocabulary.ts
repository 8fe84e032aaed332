import languages from './languages.json' with { type: 'json' };
import places from './places.json' with { type: 'json' };
import vocabulary from './vocabulary.json' with { type: 'json' };

// The words, sources, links and places of sample posts. The posts that a seed generates depend on the order
// of these lists and of the lists in `languages.json`. Only append to them.

const { sites, sections, heads, subjects, tails, names } = vocabulary;

export const EMOJI: readonly string[] = vocabulary.emoji;
export const CASHTAGS: readonly string[] = vocabulary.cashtags;
/** Tags that belong to no topic, in Latin letters for every language. */
export const COMMON_TAGS: readonly string[] = vocabulary.commonTags;
export const SUBJECTS: readonly string[] = subjects;

export interface SampleSource {
  readonly name: string;
  readonly link: string;
}

/** The applications that posts come from, most common first. */
export const SOURCES: readonly SampleSource[] = vocabulary.sources;

export interface SampleLink {
  /** The 10 characters at the end of the page's short link. */
  readonly code: string;
  readonly url: string;
  readonly display: string;
  readonly title: string;
  readonly description: string;
}

export const LINKS = 4096;

/**
 * Returns the linked page with this index, from 0 to `LINKS` - 1. All sample archives have the same pages.
 */
export function sampleLink(index: number): SampleLink {
  const { name: site } = around(sites, index);
  const { address, display } = addressOf(index);
  const subject = subjectOf(index);
  const title = `${around(heads, index >>> 4)} ${subject} ${around(tails, index >>> 3)}`;
  return {
    code: linkCode(index),
    url: `https://www.${address}`,
    display,
    title: `${title} | ${site}`,
    description: `${title}: ${site} asked around, counted twice and wrote down what people said about ${subject}.`,
  };
}

/** Returns the text by which searches find a linked page: its address and its display URL. */
export function linkText(index: number): string {
  const { address, display } = addressOf(index);
  return `www.${address} ${display}`;
}

const HEAD_SLUGS = heads.map(head => head.toLowerCase());
const TAIL_SLUGS = tails.map(tail => tail.replaceAll(' ', '-'));
const subjectOf = (index: number): string => around(subjects, index * 7 + (index >>> 5));

function addressOf(index: number): { readonly address: string; readonly display: string } {
  const { host } = around(sites, index);
  const section = around(sections, index >>> 2);
  const slug = `${around(HEAD_SLUGS, index >>> 4)}-${subjectOf(index)}-${around(TAIL_SLUGS, index >>> 3)}`;
  const address = `${host}/${section}/${slug}-${1000 + index}`;
  return { address, display: `${address.slice(0, host.length + 15)}…` };
}

function around<T>(list: readonly T[], index: number): T {
  return list[index % list.length] as T;
}

export const CODE_LENGTH = 10;
/** All short links start with this. */
export const SHORT_LINK = 'https://t.co/';
export const SHORT_LINK_LENGTH: number = SHORT_LINK.length + CODE_LENGTH;

/** Returns a code of 10 letters and digits. It is unique if `index` is below 62^5. */
export function linkCode(index: number): string {
  const digits = 'qL0vZ8mXc1RtY5bNw3KpF7hGj2DsA9eUi4oPyEaTlWnBgQrHkCxJuMdSfV6zIO';
  let code = '';
  for (let rest = index + 62 ** 4, i = 0; i < 5; i++, rest = Math.floor(rest / 62)) {
    const digit = rest % 62;
    code += digits.charAt((digit + i * 13) % 62) + digits.charAt((digit * 7 + index + i * 29) % 62);
  }
  return code;
}

/** The number of invented names. Posts contain names with small indices far more often. */
export const NAMES = 32_768;

/** Returns an invented one-word name of a band, a town or a product. No other part of a post contains it. */
export function sampleName(index: number): string {
  const { first, middle, last } = names;
  return around(first, index) + around(middle, index >>> 5) + around(last, index >>> 10);
}

/** Returns each index for which `sampleName` returns a given word. `word` must be in lower case. */
export function namesEqualTo(word: string): readonly number[] {
  const name = word.charAt(0).toUpperCase() + word.slice(1);
  const found: number[] = [];
  for (const [first, start] of names.first.entries())
    if (name.startsWith(start))
      for (let i = first; i < NAMES; i += names.first.length)
        if (sampleName(i) === name) found.push(i);
  return found;
}

/** A city with the names that posts and profiles use. */
export interface SamplePlace {
  readonly name: string;
  readonly region: string;
  readonly country: string;
  /** The country code of ISO 3166-1 alpha-2. */
  readonly code: string;
  /** The centre in degrees, longitude first. */
  readonly center: readonly [number, number];
  /** The hours ahead of UTC, without summer time. */
  readonly utcOffset: number;
  /** The id, as 16 hexadecimal digits. */
  readonly id: string;
}

export const PLACES: readonly SamplePlace[] = places.map((place, index) => ({
  ...place,
  center: place.center as [number, number],
  id: (0x5a1b_0000_0000_0000n + BigInt(index) * 0x0000_0f3d_91c7_2b05n).toString(16),
}));

/** The words of which the sample posts in one language consist. A sentence has at most one gap, `%`. */
export interface SampleLanguage {
  /** The code of the language, as in the `lang` of a post. */
  readonly code: string;
  /** The percentage of authors who write in the language. */
  readonly percent: number;
  /**
   * The topics of posts. Each language has the same topics in the same order. A topic is a list of four
   * words, with articles if the language uses them, such as `the barista`.
   */
  readonly topics: readonly (readonly string[])[];
  /** Sentences with a gap for a word of a topic. */
  readonly sentences: readonly string[];
  /** Complete sentences, without a gap for a word. */
  readonly remarks: readonly string[];
  /** Words before the name of a song, a place or a product. */
  readonly leads: readonly string[];
  readonly bios: readonly string[];
  readonly givenNames: readonly string[];
  readonly familyNames: readonly string[];
  /** The ISO codes of the countries in which authors of the language live. Likely countries are repeated. */
  readonly countries: readonly string[];
}

/** The number of topics, which is the same in each language. */
export const TOPICS = 12;

export const LANGUAGES: readonly SampleLanguage[] = languages;

export function languageAt(index: number): SampleLanguage {
  return LANGUAGES[index] as SampleLanguage;
}
