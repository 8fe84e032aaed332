import { hasValues, isValues } from '../../rules/operators/flag-operators.js';
import { sourceKey } from '../../rules/operators/value-operators.js';
import { dialectOf } from '../../rules/post/dialect.js';
import { wordTerms } from '../../rules/post/phrase.js';
import { fold, isSingle, tokenise } from '../../rules/post/tokeniser.js';
import { getOrMake } from '../get-or-make.js';
import { LANGUAGES } from './languages.js';
import { pageDisplay, pageOf } from './render-entities.js';
import { AUTHORS } from './sample-authors.js';
import type { SampleDraft, SampleDrafts, SampleHead } from './sample-draft.js';
import { FRAGMENTS, fragmentKey, MENTION } from './sample-fragments.js';
import { PLACES, type SamplePlace } from './sample-places.js';
import { mediaLink, quoteLink } from './sample-text.js';
import { SOURCES } from './sample-vocabulary.js';

const SEARCH = dialectOf('search');

// The atoms of posts: fragments first, then people in each relation to a post, then the rest.
const FROM = FRAGMENTS;
const TO = FROM + AUTHORS;
const RETWEETS_OF = TO + AUTHORS;
const QUOTES = RETWEETS_OF + AUTHORS;
const LANGUAGE = QUOTES + AUTHORS;
/** The language of posts without words. */
const WORDLESS = LANGUAGE + LANGUAGES.length;
const SOURCE = WORDLESS + 1;
const PLACE = SOURCE + SOURCES.length;
const IMAGES = PLACE + PLACES.length;
const VIDEO = IMAGES + 1;
const ANIMATION = IMAGES + 2;
const ATOMS = IMAGES + 3;

/** The atom of an author, by the operator that asks for it. */
const PEOPLE = {
  'from:': FROM,
  '@': fragmentKey(MENTION, 0),
  'to:': TO,
  'retweets_of:': RETWEETS_OF,
} as const;

/** The maximum number of terms whose atoms are kept as bits, with 35 KB each. */
const MAX_LOOKUPS = 256;

/** The posts of a block as atoms, in sequence; `starts` has the start of each post. */
export interface AtomIndex {
  readonly starts: Int32Array;
  readonly atoms: Int32Array;
}

/** What has a term. */
interface Lookup {
  /** Its atoms: bit `i` is atom `i`. */
  readonly bits: Uint32Array;
  /** The adjacent single words that form it, of the first `singles` single words. */
  pairs: readonly Pair[];
  singles: number;
  /** How many of the term's atoms are in `bits`: more become known. */
  read: number;
}

/** The numbers of two single words. */
type Pair = readonly [before: number, word: number];

/**
 * Finds sample posts by the search terms of `postTerms`, without printing a post.
 *
 * A post is stored as its atoms: the keys of its fragments and numbers for its author, language and so on, about seven. Each
 * atom has fixed terms. A post has a term if one of its atoms has it, with two exceptions: adjacent fragments may form a term
 * of two characters, and ids and short links are computed from the post.
 */
export class SampleTerms {
  readonly #drafts: SampleDrafts;
  /** The known atoms of each term. */
  readonly #atoms = new Map<string, number[]>();
  readonly #isKnown = new Uint8Array(ATOMS);
  readonly #lookups = new Map<string, Lookup>();
  /** The numbers of the words for which `isSingle` is true, from 1. */
  readonly #singles = new Map<string, number>();
  /** The first and the last word of a fragment if it is single, otherwise 0. */
  readonly #first = new Uint16Array(FRAGMENTS);
  readonly #last = new Uint16Array(FRAGMENTS);
  readonly #hasWords = new Uint8Array(FRAGMENTS);
  #authorsById: Map<string, number> | undefined;

  constructor(drafts: SampleDrafts) {
    this.#drafts = drafts;
    for (const [i, { code }] of LANGUAGES.entries()) this.#add(LANGUAGE + i, [`lang:${code}`]);
    this.#add(WORDLESS, ['lang:und']);
    for (const [i, { name, link }] of SOURCES.entries())
      this.#add(
        SOURCE + i,
        [name, link].map(text => `source:${sourceKey(text, SEARCH)}`),
      );
    for (const [i, place] of PLACES.entries()) this.#add(PLACE + i, placeTerms(place));
    const media = ['https', 't', 'co', HAS.links, HAS.media];
    this.#add(IMAGES, [...media, HAS.images]);
    this.#add(VIDEO, [...media, HAS.videos]);
    this.#add(ANIMATION, media);
  }

  /** The atoms of a draft: those of its text first, in order. */
  collect(draft: SampleDraft, into: number[]): void {
    const { kind, target } = draft;
    const start = into.length;
    // A retweet has the text of the shared post.
    const isRetweet = kind === 'retweet' && target !== undefined;
    const content = isRetweet ? this.#drafts.targetDraft(target) : draft;
    if (isRetweet) into.push(fragmentKey(MENTION, target.author));
    for (const key of content.parts) into.push(key);
    into.push(FROM + draft.author);
    if (isRetweet) into.push(RETWEETS_OF + target.author);
    if (kind === 'reply' && target !== undefined) into.push(TO + target.author);
    if (content.kind === 'quote' && content.target !== undefined)
      into.push(QUOTES + content.target.author);
    into.push(content.isWordless ? WORDLESS : LANGUAGE + content.language, SOURCE + draft.source);
    if (draft.place >= 0) into.push(PLACE + draft.place);
    const { media } = content;
    if (media > 0) into.push(media < 5 ? IMAGES : media === 5 ? VIDEO : ANIMATION);
    for (let i = start; i < into.length; i++)
      if (this.#isKnown[into[i] as number] === 0) this.#learn(into[i] as number);
  }

  /** Calls `found` for each post of an index that has a term. */
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

  /** What has a term, with the atoms and words that have become known since the last call. */
  #lookup(term: string): Lookup {
    const known = this.#authorAtom(term) ?? this.#atoms.get(term) ?? [];
    if (this.#lookups.size > MAX_LOOKUPS) this.#lookups.clear();
    const lookup = getOrMake(this.#lookups, term, () => ({
      bits: new Uint32Array((ATOMS + 31) >>> 5),
      read: 0,
      pairs: [],
      singles: 0,
    }));
    if (lookup.singles < this.#singles.size) {
      lookup.pairs = this.#pairsOf(term);
      lookup.singles = this.#singles.size;
    }
    for (; lookup.read < known.length; lookup.read++) {
      const atom = known[lookup.read] as number;
      lookup.bits[atom >>> 5] = (lookup.bits[atom >>> 5] as number) | (1 << (atom & 31));
    }
    return lookup;
  }

  /** The atom of a term that names an author, by handle or id; empty for an unknown author. */
  #authorAtom(term: string): readonly number[] | undefined {
    for (const [prefix, first] of Object.entries(PEOPLE)) {
      if (!term.startsWith(prefix)) continue;
      const author = this.#authorOf(term.slice(prefix.length));
      return author === undefined ? [] : [first + author];
    }
    return undefined;
  }

  /** The two single words, by number, that form a term where they are adjacent. */
  #pairsOf(term: string): readonly Pair[] {
    return [...this.#singles].flatMap(([word, number]) => {
      const next = term.startsWith(word) ? this.#singles.get(term.slice(word.length)) : undefined;
      return next === undefined ? [] : [[number, next] as const];
    });
  }

  /** Whether adjacent fragments of the post at `start` end and begin with the words of a pair. */
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

  /** Whether a post has a term that only few have: of a short link, or an id. */
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
    const page = pageOf(content.target, this.#drafts);
    return /^\d/.test(term) && [page, pageDisplay(page)].flatMap(wordTermsOf).includes(term);
  }

  /** Adds the terms of an atom that the constructor did not add. */
  #learn(atom: number): void {
    const author = (atom - FROM) % AUTHORS;
    if (atom < FRAGMENTS) this.#learnFragment(atom);
    else if (atom < TO) this.#add(atom, this.#profileTerms(author));
    else if (atom < RETWEETS_OF) this.#add(atom, [IS.reply]);
    else if (atom < QUOTES) this.#add(atom, ['rt', IS.retweet]);
    else this.#add(atom, this.#quoteTerms(author));
  }

  #add(atom: number, terms: readonly string[]): void {
    this.#isKnown[atom] = 1;
    for (const term of new Set(terms)) getOrMake(this.#atoms, term, () => []).push(atom);
  }

  #learnFragment(key: number): void {
    const { text, entity } = this.#drafts.fragments.get(key);
    const { words } = tokenise(text.replaceAll('&amp;', '&'), SEARCH.accents);
    const terms = [...wordTerms(words)];
    if (entity?.kind === 'hashtag') terms.push(`#${fold(entity.text, SEARCH.accents)}`);
    if (entity?.kind === 'symbol') terms.push(`$${fold(entity.text, SEARCH.accents)}`);
    if (entity?.kind === 'link')
      terms.push(...wordTermsOf(entity.link.url), ...wordTermsOf(entity.link.display));
    if (entity !== undefined) terms.push(HAS[`${entity.kind}s`]);
    this.#add(key, terms);
    const [first = '', last = ''] = [words[0], words.at(-1)];
    this.#first[key] = this.#singleOf(first);
    this.#last[key] = this.#singleOf(last);
    this.#hasWords[key] = Number(words.length > 0);
  }

  /** The number of a single word; 0 for others. */
  #singleOf(word: string): number {
    if (word === '' || !isSingle(word)) return 0;
    return getOrMake(this.#singles, word, () => this.#singles.size + 1);
  }

  /** The terms of an author's home and verification. */
  #profileTerms(index: number): readonly string[] {
    const { authors } = this.#drafts;
    const { home } = authors.livesIn(index);
    const verified = authors.isVerified(index) ? [IS.verified] : [];
    if (home === undefined) return verified;
    const { code, region, name } = home;
    return [
      ...verified,
      HAS.profile_geo,
      `profile_country:${code}`,
      ...wordTermsOf(region).map(term => `profile_region:${term}`),
      ...wordTermsOf(name).map(term => `profile_locality:${term}`),
    ];
  }

  /** The terms of a quote of an author's post, without those of the post's id. */
  #quoteTerms(author: number): readonly string[] {
    const page = pageOf({ ...ANY_POST, author }, this.#drafts);
    const words = [page, pageDisplay(page)].flatMap(wordTermsOf);
    const named = words.filter(word => !/^\d/.test(word));
    return [...named, 'https', 't', 'co', IS.quote, HAS.links];
  }

  /** Finds an author by handle, which ends in the author's number, or by id. */
  #authorOf(name: string): number | undefined {
    const { authors } = this.#drafts;
    const index = Number(/\d+$/.exec(name)?.[0] ?? Number.NaN);
    if (index < AUTHORS && authors.handleOf(index).toLowerCase() === name) return index;
    if (!/^\d+$/.test(name)) return undefined;
    if (this.#authorsById === undefined) {
      this.#authorsById = new Map();
      for (let i = 0; i < AUTHORS; i++) this.#authorsById.set(authors.at(i).id, i);
    }
    return this.#authorsById.get(name);
  }
}

/** Terms that `#hasComputed` may find: the code of a short link, or words of digits. */
const COMPUTED = /^(?:[a-z0-9]{10}|\d+)$/;

const HAS = flagTerms('has:', hasValues);
const IS = flagTerms('is:', isValues);

/** Some post, of which only the author counts. */
const ANY_POST: SampleHead = {
  at: Date.UTC(2024, 0),
  minute: 0,
  index: 0,
  author: 0,
  kind: 'post',
  target: undefined,
};

function isIn(bits: Uint32Array, atom: number): boolean {
  return (((bits[atom >>> 5] as number) >>> (atom & 31)) & 1) === 1;
}

function placeTerms({ code, region, name, id }: SamplePlace): readonly string[] {
  const words = [name, `${name}, ${region}`, id].flatMap(wordTermsOf);
  return [`place_country:${code}`, ...words.map(term => `place:${term}`), HAS.geo];
}

function flagTerms<Name extends string>(
  prefix: string,
  names: readonly Name[],
): Readonly<Record<Name, string>> {
  const flags = names.map(name => [name, prefix + name] as const);
  return Object.fromEntries(flags) as Record<Name, string>;
}

function wordTermsOf(text: string): readonly string[] {
  return [...wordTerms(tokenise(text, SEARCH.accents).words)];
}
