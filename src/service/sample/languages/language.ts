/** The words that sample posts of one language are made of. Every sentence has at most one gap, `%`. */
export interface SampleLanguage {
  /** As in `lang` of a post. */
  readonly code: string;
  /** How many of a hundred authors write in it. */
  readonly share: number;
  /** What people write about: four words a topic, topics in the order of `TOPICS`, with their article. */
  readonly topics: readonly (readonly [string, string, string, string])[];
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

export const TOPICS = [
  'coffee',
  'football',
  'music',
  'weather',
  'cinema',
  'food',
  'travel',
  'work',
  'health',
  'technology',
  'money',
  'pets',
] as const;
