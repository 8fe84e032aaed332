export interface Query {
  readonly name: string;
  readonly rule: string;
  readonly where: string;
}

/** The time window from `from` (inclusive) to `to` (exclusive), in epoch milliseconds. */
export interface Month {
  readonly from: number;
  readonly to: number;
}

export interface Engine {
  /** Returns the ids of the posts on the first page, newest first. */
  search(query: Query, month: Month): Promise<readonly string[]>;
  /**
   * Returns the number of posts in each hour. The keys are the epoch milliseconds of the hours.
   * Hours without posts are omitted.
   */
  counts(query: Query, month: Month): Promise<Readonly<Record<string, number>>>;
}

export const PAGE = 100;

export const QUERIES: readonly Query[] = [
  { name: 'a common word', rule: 'coffee', where: word('coffee') },
  { name: 'a rare word', rule: 'velandale', where: word('velandale') },
  {
    name: 'three words',
    rule: '(football OR goalkeeper) penalty',
    where: `(${word('football')} OR ${word('goalkeeper')}) AND ${word('penalty')}`,
  },
  { name: 'a phrase', rule: '"cold brew"', where: phrase('cold', 'brew') },
  {
    name: 'a word and a language',
    rule: 'lang:en monday',
    where: `lang = 'en' AND ${word('monday')}`,
  },
];

/**
 * Returns the SQL condition that a post has a word. `contains` is much faster than the regular
 * expression, which then runs on few rows.
 */
function word(text: string): string {
  return `(contains(words, '${text}') AND regexp_matches(words, '\\b${text}\\b'))`;
}

/**
 * Returns the SQL condition that a post has a phrase. The condition reads only the text, because a
 * phrase does not match the words of a link.
 */
function phrase(first: string, second: string): string {
  return (
    `(contains(text, '${first}') AND contains(text, '${second}') AND ` +
    `regexp_matches(text, '\\b${first}[\\s[:punct:]]+${second}\\b'))`
  );
}
