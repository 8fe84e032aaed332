import languages from './languages.json' with { type: 'json' };

/** The words that sample posts of one language are made of. Every sentence has at most one gap, `%`. */
export interface SampleLanguage {
  /** As in `lang` of a post. */
  readonly code: string;
  /** How many of a hundred authors write in it. */
  readonly percent: number;
  /** What people write about, from coffee to pets as in English: for each topic four words, with their article. */
  readonly topics: readonly (readonly string[])[];
  /** With a gap for a word of a topic. */
  readonly sentences: readonly string[];
  /** Without a gap. */
  readonly remarks: readonly string[];
  /** Comes before a name: of a song, a place, a product. */
  readonly leads: readonly string[];
  /** Parts of a profile's description. */
  readonly bios: readonly string[];
  readonly givenNames: readonly string[];
  readonly familyNames: readonly string[];
  /** ISO codes of countries where its authors live, the most likely first. */
  readonly countries: readonly string[];
}

/** Each language has as many. */
export const TOPICS = 12;

/** Only ever append, also to the lists of a language: the order is part of what a seed gives. */
export const LANGUAGES: readonly SampleLanguage[] = languages;

export function languageAt(index: number): SampleLanguage {
  return LANGUAGES[index] as SampleLanguage;
}
