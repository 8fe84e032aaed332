import { getOrMake } from '../cache.js';
import { homeIn, linkTo, NO_AUTHOR, NOBODY, termsOf } from './partial-posts.js';
import { pageDisplay, pageStart } from './render-parts.js';
import { FROM, MENTIONS, QUOTES, RETWEETS_OF, TO } from './sample-atoms.js';
import { AUTHORS, SampleAuthors } from './sample-authors.js';
import { SHORT_LINK } from './sample-vocabulary.js';
import { WordSearch } from './word-search.js';

/**
 * For each operator that matches an author, the atom (a number) of author 0. Add `i` to get the atom of
 * author `i`.
 */
const PEOPLE = {
  'from:': FROM,
  '@': MENTIONS,
  'to:': TO,
  'retweets_of:': RETWEETS_OF,
} as const;

/** Authors whose profiles have the same terms. */
interface Profile {
  readonly terms: readonly string[];
  readonly authors: number[];
}

/**
 * Finds the author atoms that have a search term. An author atom is a number for an author in one relation to
 * a post. Does not collect the terms of all 40,000 authors, which would take longer than most counts.
 */
export class AuthorAtoms {
  readonly #authors: SampleAuthors;
  readonly #handles: WordSearch;
  /** The links to the posts of authors, in the displayed form, which may cut the handle short. */
  readonly #displays: WordSearch;
  #profilesByKey: ReadonlyMap<string, Profile> | undefined;
  #authorsById: Map<string, number> | undefined;

  constructor(authors: SampleAuthors) {
    this.#authors = authors;
    const handleOf = (author: number) => authors.handleOf(author);
    this.#handles = new WordSearch(AUTHORS, handleOf);
    this.#displays = new WordSearch(AUTHORS, i => pageDisplay(pageStart(handleOf(i))));
  }

  /** Yields the atoms that have a term. */
  *with(term: string): Generator<number> {
    for (const { first, terms } of RELATIONS)
      if (terms.includes(term)) for (let i = 0; i < AUTHORS; i++) yield first + i;
    // All terms of a profile are operators with a colon, such as `is:verified`.
    if (term.includes(':'))
      for (const { terms, authors } of this.#profiles())
        if (terms.includes(term)) for (const author of authors) yield FROM + author;
    for (const [prefix, first] of Object.entries(PEOPLE)) {
      const author = term.startsWith(prefix) ? this.named(term.slice(prefix.length)) : undefined;
      if (author !== undefined) yield first + author;
    }
    yield* this.#withWord(term);
  }

  /** Finds an author by handle or id. */
  named(name: string): number | undefined {
    return this.#byHandle(name) ?? this.#byId(name);
  }

  /**
   * Yields the author atoms that have a word. A mention has the words of the author's handle. A quote also
   * has the words of the displayed link to the author's posts.
   */
  *#withWord(word: string): Generator<number> {
    if (!SampleAuthors.mayHaveWord(word) && !'status'.startsWith(word)) return;
    for (const author of this.#handles.find(word)) {
      yield MENTIONS + author;
      yield QUOTES + author;
    }
    for (const author of this.#displays.find(word)) yield QUOTES + author;
  }

  /** Returns the authors grouped by home and verification, each group with the terms of these properties. */
  #profiles(): Iterable<Profile> {
    if (this.#profilesByKey !== undefined) return this.#profilesByKey.values();
    const profiles = new Map<string, Profile>();
    for (let i = 0; i < AUTHORS; i++) {
      const { home } = this.#authors.livesIn(i);
      const verified = this.#authors.isVerified(i);
      const homes = home === undefined ? [] : [homeIn(home)];
      getOrMake(profiles, `${home?.id} ${verified}`, () => ({
        terms: termsOf({ author: { ...NO_AUTHOR, verified, homes } }),
        authors: [],
      })).authors.push(i);
    }
    this.#profilesByKey = profiles;
    return profiles.values();
  }

  /** Finds an author by handle, which ends in the index of the author. */
  #byHandle(handle: string): number | undefined {
    const author = Number(/\d+$/.exec(handle)?.[0] ?? Number.NaN);
    return author < AUTHORS && this.#authors.handleOf(author).toLowerCase() === handle
      ? author
      : undefined;
  }

  #byId(id: string): number | undefined {
    if (!/^\d+$/.test(id)) return undefined;
    if (this.#authorsById === undefined) {
      this.#authorsById = new Map();
      for (let i = 0; i < AUTHORS; i++) this.#authorsById.set(this.#authors.at(i).id, i);
    }
    return this.#authorsById.get(id);
  }
}

const QUOTE_TERMS = termsOf({
  text: SHORT_LINK,
  isQuote: true,
  links: [linkTo('https://twitter.com/status', '')],
});
const RETWEET_TERMS = termsOf({
  text: 'RT',
  retweeted: {
    id: '',
    author: NOBODY,
    postedAt: undefined,
    favorites: undefined,
    retweets: undefined,
    isReply: false,
  },
});

/**
 * For each relation of a post to an author: `first` is its atom for author 0, to which the index of an author
 * is added. `terms` are the search terms that it has for every author.
 */
const RELATIONS = [
  { first: MENTIONS, terms: termsOf({ mentions: [NOBODY] }) },
  { first: TO, terms: termsOf({ replyTo: NOBODY }) },
  { first: RETWEETS_OF, terms: RETWEET_TERMS },
  { first: QUOTES, terms: QUOTE_TERMS },
];
