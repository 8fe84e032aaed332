import type { PostFields } from '../../post/post-fields.js';
import { wordTerms } from '../../rules/post/phrase.js';
import { isSingle } from '../../rules/post/tokeniser.js';
import { getOrMake } from '../cache.js';
import {
  homeIn,
  linkTo,
  NO_AUTHOR,
  NOBODY,
  pageLink,
  placeFields,
  termsOf,
  wordsIn,
} from './partial-posts.js';
import {
  ANIMATION,
  ATOMS,
  type AtomIndex,
  FROM,
  IMAGES,
  LANGUAGE,
  MENTIONS,
  QUOTES,
  RETWEETS_OF,
  SOURCE,
  TAGGED_PLACE,
  TO,
  VIDEO,
  WORDLESS,
} from './sample-atoms.js';
import { AUTHORS } from './sample-authors.js';
import type { SampleDraft, SampleDrafts, SampleHead } from './sample-draft.js';
import { FRAGMENTS, type FragmentEntity, fragmentKey, MENTION } from './sample-fragments.js';
import { mediaLink, quoteLink } from './sample-text.js';
import { LANGUAGES, PLACES, SOURCES } from './sample-vocabulary.js';

/** For each operator that matches an author, the atom of author 0. The atom of author `i` is `i` higher. */
const PEOPLE = {
  'from:': FROM,
  '@': MENTIONS,
  'to:': TO,
  'retweets_of:': RETWEETS_OF,
} as const;

/** The maximum number of search terms whose lookups are cached, with 35 KB each. */
const MAX_LOOKUPS = 256;

/**
 * The result of looking up a search term. A post has the term if it contains one of these atoms (numbers for
 * properties of a post) or one of these pairs of words.
 */
interface Lookup {
  /** The atoms that have the term: bit `i` stands for atom `i`. */
  readonly bits: Uint32Array;
  /**
   * The pairs of adjacent one-character words that together form the term. They were computed when `#singles`
   * had `singles` words, and are computed again if it has more.
   */
  pairs: readonly Pair[];
  singles: number;
  /** The number of the term's known atoms that are already in `bits`. More atoms may become known later. */
  read: number;
}

/** Authors whose profiles have the same terms. */
interface Profile {
  readonly terms: readonly string[];
  readonly authors: number[];
}

/** Two words, each by its number in `SampleTerms.#singles`. */
type Pair = readonly [before: number, word: number];

/**
 * Finds sample posts by the search terms of `postTerms`, without printing a post.
 *
 * A post is stored as about seven atoms: the keys of its fragments, and numbers for its author, language and
 * so on. To get the terms of an atom, `postTerms` is called for a post that has only the fields of this atom.
 * New operators are therefore indexed here, too. A post has a term if one of its atoms has it.
 *
 * There are two exceptions. Adjacent fragments may form a term of two characters. Ids and short links are
 * computed from the post.
 */
export class SampleTerms {
  readonly #drafts: SampleDrafts;
  /** For each search term, the atoms that have it, as far as they are known. */
  readonly #atoms = new Map<string, number[]>();
  readonly #isKnown = new Uint8Array(ATOMS);
  readonly #lookups = new Map<string, Lookup>();
  /**
   * Numbers, starting at 1, for words for which `isSingle` is true. Such a word is an emoji, or a character
   * of a script without spaces.
   */
  readonly #singles = new Map<string, number>();
  /**
   * For each fragment, the numbers of its first word and of its last word in `#singles`. 0 means that the
   * word is not in `#singles`.
   */
  readonly #first = new Uint16Array(FRAGMENTS);
  readonly #last = new Uint16Array(FRAGMENTS);
  readonly #hasWords = new Uint8Array(FRAGMENTS);
  #profilesByKey: ReadonlyMap<string, Profile> | undefined;
  readonly #tags = new Map<string, readonly string[]>();
  #authorsById: Map<string, number> | undefined;

  constructor(drafts: SampleDrafts) {
    this.#drafts = drafts;
    for (const [i, { code }] of LANGUAGES.entries()) this.#add(LANGUAGE + i, { lang: code });
    this.#add(WORDLESS, { lang: 'und' });
    for (const [i, source] of SOURCES.entries()) this.#add(SOURCE + i, { source });
    for (const [i, place] of PLACES.entries()) this.#add(TAGGED_PLACE + i, placeFields(place));
    this.#add(IMAGES, mediaFields('photo'));
    this.#add(VIDEO, mediaFields('video'));
    this.#add(ANIMATION, mediaFields('animated_gif'));
  }

  /**
   * Appends the atoms (numbers for properties) of a post to `atoms`. The atoms of its text come first, in
   * order.
   */
  collect(draft: SampleDraft, atoms: number[]): void {
    const { kind, target } = draft;
    const start = atoms.length;
    // A retweet has the text of the retweeted post.
    const isRetweet = kind === 'retweet' && target !== undefined;
    const content = isRetweet ? this.#drafts.targetDraft(target) : draft;
    if (isRetweet) atoms.push(fragmentKey(MENTION, target.author));
    for (const key of content.parts) atoms.push(key);
    if (content.kind === 'quote' && content.target !== undefined)
      atoms.push(QUOTES + content.target.author);
    for (let i = start; i < atoms.length; i++)
      if (this.#isKnown[atoms[i] as number] === 0) this.#learn(atoms[i] as number);
    atoms.push(FROM + draft.author);
    if (isRetweet) atoms.push(RETWEETS_OF + target.author);
    if (kind === 'reply' && target !== undefined) atoms.push(TO + target.author);
    atoms.push(content.isWordless ? WORDLESS : LANGUAGE + content.language);
    atoms.push(SOURCE + draft.source);
    if (draft.place >= 0) atoms.push(TAGGED_PLACE + draft.place);
    const { media } = content;
    if (media > 0) atoms.push(media < 5 ? IMAGES : media === 5 ? VIDEO : ANIMATION);
  }

  find(
    term: string,
    { starts, atoms }: AtomIndex,
    headAt: (document: number) => SampleHead,
    found: (document: number) => void,
  ): void {
    const { bits, pairs } = this.#lookup(term);
    const isComputed = COMPUTED.test(term);
    for (let document = 0; document < starts.length - 1; document++) {
      const end = starts[document + 1] as number;
      let at = starts[document] as number;
      while (at < end && !isIn(bits, atoms[at] as number)) at++;
      if (
        at < end ||
        (pairs.length > 0 && this.#hasPair(pairs, atoms, starts[document] as number)) ||
        (isComputed &&
          this.#hasComputed(term, atoms.subarray(starts[document], end), () => headAt(document)))
      )
        found(document);
    }
  }

  /**
   * Returns the atoms and pairs of words that give a post this term. Includes atoms that were added since the
   * last call.
   */
  #lookup(term: string): Lookup {
    const known = this.#atoms.get(term) ?? [];
    if (this.#lookups.size > MAX_LOOKUPS) this.#lookups.clear();
    const lookup = getOrMake(this.#lookups, term, () => {
      const bits = new Uint32Array((ATOMS + 31) >>> 5);
      for (const atom of this.#peopleWith(term)) addTo(bits, atom);
      return { bits, read: 0, pairs: [], singles: 0 };
    });
    if (lookup.singles < this.#singles.size) {
      lookup.pairs = this.#pairsOf(term);
      lookup.singles = this.#singles.size;
    }
    for (; lookup.read < known.length; lookup.read++)
      addTo(lookup.bits, known[lookup.read] as number);
    return lookup;
  }

  /**
   * Yields the atoms for authors that have a term. Of the words in a handle, only the last is considered. The
   * atoms are computed for each term. To collect the terms of all 40,000 authors would take longer than most
   * counts.
   */
  *#peopleWith(term: string): Generator<number> {
    for (const { first, terms } of RELATIONS)
      if (terms.includes(term)) for (let i = 0; i < AUTHORS; i++) yield first + i;
    for (const { terms, authors } of this.#profiles())
      if (terms.includes(term)) for (const author of authors) yield FROM + author;
    for (const [prefix, first] of Object.entries(PEOPLE)) {
      const author = term.startsWith(prefix) ? this.authorOf(term.slice(prefix.length)) : undefined;
      if (author !== undefined) yield first + author;
    }
    const author = numberIn(term);
    if (author === undefined || this.#handleWords(author).at(-1) !== term) return;
    yield MENTIONS + author;
    yield QUOTES + author;
  }

  /**
   * Returns the pairs of one-character words, by their numbers in `#singles`, that form a term if they are
   * adjacent.
   */
  #pairsOf(term: string): readonly Pair[] {
    return [...this.#singles].flatMap(([word, number]) => {
      const next = term.startsWith(word) ? this.#singles.get(term.slice(word.length)) : undefined;
      return next === undefined ? [] : [[number, next] as const];
    });
  }

  /**
   * Returns whether the post at `start` has a pair of words that spans two fragments. The first word must end
   * a fragment, and the second word must begin the next fragment.
   */
  #hasPair(pairs: readonly Pair[], atoms: Int32Array, start: number): boolean {
    let before = 0;
    for (let at = start; (atoms[at] as number) < FRAGMENTS; at++) {
      const key = atoms[at] as number;
      const first = this.#first[key];
      if (first !== 0 && pairs.some(([a, b]) => a === before && b === first)) return true;
      if (this.#hasWords[key] === 1) before = this.#last[key] as number;
    }
    return false;
  }

  /**
   * Returns whether a post has a term that no atom stands for. Such terms are the code of a short link and an
   * id. They are computed from the post.
   */
  #hasComputed(term: string, atoms: Int32Array, headAt: () => SampleHead): boolean {
    const hasMedia = atoms.some(atom => atom >= IMAGES);
    const isQuote = atoms.some(atom => atom >= QUOTES && atom < LANGUAGE);
    if (!hasMedia && !isQuote) return false;
    const head = headAt();
    const { target } = head;
    const content = head.kind === 'retweet' && target !== undefined ? target : head;
    const codeOf = (url: string) => url.slice('https://t.co/'.length).toLowerCase();
    if (hasMedia && codeOf(mediaLink(content)) === term) return true;
    if (!isQuote || content.target === undefined) return false;
    if (codeOf(quoteLink(content.target)) === term) return true;
    return (
      /^\d/.test(term) &&
      termsOf({ links: [pageLink(content.target, this.#drafts)] }).includes(term)
    );
  }

  #learn(atom: number): void {
    this.#isKnown[atom] = 1;
    if (atom < FRAGMENTS) this.#learnFragment(atom);
    else this.#addTerms(atom, this.#quoteTerms(atom - QUOTES));
  }

  #add(atom: number, fields: Partial<PostFields>): void {
    this.#addTerms(atom, termsOf(fields));
  }

  #addTerms(atom: number, terms: Iterable<string>): void {
    for (const term of terms) {
      const atoms = this.#atoms.get(term);
      if (atoms === undefined) this.#atoms.set(term, [atom]);
      else atoms.push(atom);
    }
  }

  #learnFragment(key: number): void {
    const { text, entity } = this.#drafts.fragments.get(key);
    if (entity?.kind === 'mention') {
      this.#hasWords[key] = 1;
      this.#addTerms(key, this.#firstWords(entity.author));
      return;
    }
    const words = wordsIn(text.replaceAll('&amp;', '&'));
    const terms = new Set(wordTerms(words));
    for (const term of this.#entityTerms(entity)) terms.add(term);
    this.#addTerms(key, terms);
    const [first = '', last = ''] = [words[0], words.at(-1)];
    this.#first[key] = this.#singleOf(first);
    this.#last[key] = this.#singleOf(last);
    this.#hasWords[key] = Number(words.length > 0);
  }

  /** Returns the terms that a fragment has because of its entity, in addition to the terms of its words. */
  #entityTerms(entity: Exclude<FragmentEntity, { kind: 'mention' }> | undefined): Iterable<string> {
    if (entity === undefined) return [];
    if (entity.kind === 'link') return linkTerms(LINK_TERMS, entity.link);
    const { kind, text } = entity;
    return getOrMake(this.#tags, `${kind} ${text}`, () =>
      termsOf(kind === 'hashtag' ? { hashtags: [text] } : { cashtags: [text] }),
    );
  }

  /** Returns the number in `#singles` of a word for which `isSingle` is true; 0 for other words. */
  #singleOf(word: string): number {
    if (word === '' || !isSingle(word)) return 0;
    return getOrMake(this.#singles, word, () => this.#singles.size + 1);
  }

  /** Returns the authors grouped by home and verification, each group with the terms of these properties. */
  #profiles(): Iterable<Profile> {
    if (this.#profilesByKey !== undefined) return this.#profilesByKey.values();
    const profiles = new Map<string, Profile>();
    const { authors } = this.#drafts;
    for (let i = 0; i < AUTHORS; i++) {
      const { home } = authors.livesIn(i);
      const verified = authors.isVerified(i);
      const homes = home === undefined ? [] : [homeIn(home)];
      getOrMake(profiles, `${home?.id} ${verified}`, () => ({
        terms: termsOf({ author: { ...NO_AUTHOR, verified, homes } }),
        authors: [],
      })).authors.push(i);
    }
    this.#profilesByKey = profiles;
    return profiles.values();
  }

  /**
   * Returns the words in the link to a quoted post that depend on its author, except for the last word of the
   * handle.
   */
  #quoteTerms(author: number): Iterable<string> {
    const { display } = pageLink({ ...ANY_POST, author }, this.#drafts);
    return new Set([...this.#firstWords(author), ...wordsIn(display)]);
  }

  /** Returns the words of a handle, in lower case. Only the last word contains the index of the author. */
  #handleWords(author: number): string[] {
    return this.#drafts.authors.handleOf(author).toLowerCase().split('_');
  }

  #firstWords(author: number): readonly string[] {
    return this.#handleWords(author).slice(0, -1);
  }

  authorOf(name: string): number | undefined {
    return this.#authorByHandle(name) ?? this.#authorById(name);
  }

  /** Finds an author by handle, which ends in the index of the author. */
  #authorByHandle(handle: string): number | undefined {
    const author = numberIn(handle);
    return author !== undefined && this.#handleWords(author).join('_') === handle
      ? author
      : undefined;
  }

  #authorById(id: string): number | undefined {
    if (!/^\d+$/.test(id)) return undefined;
    if (this.#authorsById === undefined) {
      const { authors } = this.#drafts;
      this.#authorsById = new Map();
      for (let i = 0; i < AUTHORS; i++) this.#authorsById.set(authors.at(i).id, i);
    }
    return this.#authorsById.get(id);
  }
}

/** Matches terms that `#hasComputed` may find: the code of a short link, or words of digits. */
const COMPUTED = /^(?:[a-z0-9]{10}|\d+)$/;

/** Only the author of this post is used. Each caller replaces the author. */
const ANY_POST: SampleHead = {
  at: Date.UTC(2024, 0),
  minute: 0,
  index: 0,
  author: 0,
  kind: 'post',
  target: undefined,
};

/** Returns the index of an author, which is at the end of the handle. */
function numberIn(handle: string): number | undefined {
  const author = Number(/\d+$/.exec(handle)?.[0] ?? Number.NaN);
  return author < AUTHORS ? author : undefined;
}

function addTo(bits: Uint32Array, atom: number): void {
  bits[atom >>> 5] = (bits[atom >>> 5] as number) | (1 << (atom & 31));
}

function isIn(bits: Uint32Array, atom: number): boolean {
  return (((bits[atom >>> 5] as number) >>> (atom & 31)) & 1) === 1;
}

/** All short links start with this, so each of them has its words as search terms. */
const SHORT_LINK = 'https://t.co/';

const LINK_TERMS = termsOf({ links: [linkTo('', '')] });
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
 * For each relation of a post to an author: the search terms that all authors have in common, and the atom of
 * author 0.
 */
const RELATIONS = [
  { first: MENTIONS, terms: termsOf({ mentions: [NOBODY] }) },
  { first: TO, terms: termsOf({ replyTo: NOBODY }) },
  { first: RETWEETS_OF, terms: RETWEET_TERMS },
  { first: QUOTES, terms: QUOTE_TERMS },
];

function linkTerms(
  terms: readonly string[],
  { url, display }: { readonly url: string; readonly display: string },
): Iterable<string> {
  return new Set([...terms, ...wordTerms(wordsIn(url)), ...wordTerms(wordsIn(display))]);
}

function mediaFields(type: string): Partial<PostFields> {
  return { text: SHORT_LINK, media: [{ type, url: '' }] };
}
