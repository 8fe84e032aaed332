/** A question to an archive, as a rule and as the SQL that someone who knows the posts would write. */
export interface Query {
  readonly name: string;
  readonly rule: string;
  /** What stands after WHERE, but for the window. */
  readonly where: string;
}

/** From, inclusive, to `to`, exclusive; epoch milliseconds. */
export interface Month {
  readonly from: number;
  readonly to: number;
}

export interface Engine {
  /** Ids of the first page, newest first. */
  search(query: Query, month: Month): Promise<readonly string[]>;
  /** Posts by the epoch milliseconds of their hour; hours without any are left out. */
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

/** `contains` is much the faster of the two, and leaves little for the other. */
function word(text: string): string {
  return `(contains(words, '${text}') AND regexp_matches(words, '\\b${text}\\b'))`;
}

/** Of the text alone, since a phrase does not match words of a link. */
function phrase(first: string, second: string): string {
  return (
    `(contains(text, '${first}') AND contains(text, '${second}') AND ` +
    `regexp_matches(text, '\\b${first}[\\s[:punct:]]+${second}\\b'))`
  );
}
