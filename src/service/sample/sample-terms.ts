import type { AuthorFields, Home, Link, PostFields } from '../../post/post-fields.js';
import { postTerms } from '../../rules/operators/post-terms.js';
import { dialectOf } from '../../rules/post/dialect.js';
import { RulePost } from '../../rules/post/rule-post.js';
import { isSingle } from '../../rules/post/tokeniser.js';
import { getOrMake } from '../cache.js';
import { pageDisplay, postPage } from './render-parts.js';
import { AUTHORS } from './sample-authors.js';
import type { SampleDraft, SampleDrafts, SampleHead } from './sample-draft.js';
import { FRAGMENTS, fragmentKey, MENTION } from './sample-fragments.js';
import { mediaLink, quoteLink } from './sample-text.js';
import { LANGUAGES, PLACES, type SamplePlace, SOURCES } from './sample-vocabulary.js';

const SEARCH = dialectOf('search');

// The numbers of atoms: first fragments, then people in each relation to a post, then the rest.
const FROM = FRAGMENTS;
const TO = FROM + AUTHORS;
const RETWEETS_OF = TO + AUTHORS;
const QUOTES = RETWEETS_OF + AUTHORS;
const LANGUAGE = QUOTES + AUTHORS;
/** The atom for the language of posts without words. */
const WORDLESS = LANGUAGE + LANGUAGES.length;
const SOURCE = WORDLESS + 1;
const PLACE = SOURCE + SOURCES.length;
const IMAGES = PLACE + PLACES.length;
const VIDEO = IMAGES + 1;
const ANIMATION = IMAGES + 2;
const ATOMS = IMAGES + 3;

/** The first atom of the authors, by the operator that matches an author. */
const PEOPLE = {
  'from:': FROM,
  '@': fragmentKey(MENTION, 0),
  'to:': TO,
  'retweets_of:': RETWEETS_OF,
} as const;

/** The maximum number of terms whose atoms are cached as bits, with 35 KB each. */
const MAX_LOOKUPS = 256;

/** The posts of a block as atoms, one post after another. `starts` has the start of each post. */
export interface AtomIndex {
  readonly starts: Int32Array;
  readonly atoms: Int32Array;
}

/** The atoms and pairs of words that have a term. */
interface Lookup {
  /** The atoms with the term: bit `i` is atom `i`. */
  readonly bits: Uint32Array;
  /** The pairs of adjacent single words that form the term, among the first `singles` single words. */
  pairs: readonly Pair[];
  singles: number;
  /** The number of the term's atoms that are already in `bits`, since more atoms are added over time. */
  read: number;
}

/** The numbers of two single words. */
type Pair = readonly [before: number, word: number];

/**
 * Finds sample posts by the search terms of `postTerms`, without printing a post.
 *
 * A post is stored as about seven atoms: the keys of its fragments, and numbers for its author, language and
 * so on. The terms of an atom are the result of `postTerms` for a post that has only the fields of this atom,
 * so that new operators are indexed here, too. A post has a term if one of its atoms has it. There are two
 * exceptions: adjacent fragments may form a term of two characters, and ids and short links are computed from
 * the post.
 */
export class SampleTerms {
  readonly #drafts: SampleDrafts;
  /** The known atoms of each term. */
  readonly #atoms = new Map<string, number[]>();
  readonly #isKnown = new Uint8Array(ATOMS);
  readonly #lookups = new Map<string, Lookup>();
  /** The numbers of the words for which `isSingle` is true, from 1. */
  readonly #singles = new Map<string, number>();
  /** The first and the last word of each fragment, by number; 0 if the word is not single. */
  readonly #first = new Uint16Array(FRAGMENTS);
  readonly #last = new Uint16Array(FRAGMENTS);
  readonly #hasWords = new Uint8Array(FRAGMENTS);
  /** The terms of each profile, by city and verification. */
  readonly #profiles = new Map<string, readonly string[]>();
  #authorsById: Map<string, number> | undefined;

  constructor(drafts: SampleDrafts) {
    this.#drafts = drafts;
    for (const [i, { code }] of LANGUAGES.entries()) this.#add(LANGUAGE + i, { lang: code });
    this.#add(WORDLESS, { lang: 'und' });
    for (const [i, source] of SOURCES.entries()) this.#add(SOURCE + i, { source });
    for (const [i, place] of PLACES.entries()) this.#add(PLACE + i, placeFields(place));
    this.#add(IMAGES, mediaFields('photo'));
    this.#add(VIDEO, mediaFields('video'));
    this.#add(ANIMATION, mediaFields('animated_gif'));
  }

  /** Adds the atoms of a draft to `into`, starting with the atoms of its text in order. */
  collect(draft: SampleDraft, into: number[]): void {
    const { kind, target } = draft;
    const start = into.length;
    // A retweet has the text of the retweeted post.
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

  /** Returns the atoms and pairs of a term, including those that were added since the last call. */
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

  /** The atom of a term that names an author by handle or id. Empty for an unknown author. */
  #authorAtom(term: string): readonly number[] | undefined {
    for (const [prefix, first] of Object.entries(PEOPLE)) {
      if (!term.startsWith(prefix)) continue;
      const author = this.#authorOf(term.slice(prefix.length));
      return author === undefined ? [] : [first + author];
    }
    return undefined;
  }

  /** The pairs of single words, by number, that form a term if they are adjacent. */
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

  /** Whether a post has a term that is rare: of a short link, or an id. */
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

  /** Adds the terms of an atom that the constructor did not add. */
  #learn(atom: number): void {
    const author = (atom - FROM) % AUTHORS;
    if (atom < FRAGMENTS) this.#learnFragment(atom);
    else if (atom < TO) this.#addTerms(atom, this.#profileTerms(author));
    else if (atom < RETWEETS_OF) this.#addTerms(atom, REPLY_TERMS);
    else if (atom < QUOTES) this.#addTerms(atom, RETWEET_TERMS);
    else this.#addTerms(atom, this.#quoteTerms(author));
  }

  /** Adds an atom with the terms of a post that has only these fields. */
  #add(atom: number, fields: Partial<PostFields>): void {
    this.#addTerms(atom, termsOf(fields));
  }

  #addTerms(atom: number, terms: readonly string[]): void {
    this.#isKnown[atom] = 1;
    for (const term of terms) getOrMake(this.#atoms, term, () => []).push(atom);
  }

  #learnFragment(key: number): void {
    const { text, entity } = this.#drafts.fragments.get(key);
    const post = postWith({
      text: text.replaceAll('&amp;', '&'),
      hashtags: entity?.kind === 'hashtag' ? [entity.text] : [],
      cashtags: entity?.kind === 'symbol' ? [entity.text] : [],
      mentions: entity?.kind === 'mention' ? [NOBODY] : [],
      links: entity?.kind === 'link' ? [linkTo(entity.link.url, entity.link.display)] : [],
    });
    this.#addTerms(key, termsOfPost(post));
    const { words = [] } = post.texts[0] ?? {};
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

  /** The terms of an author's home and verification, which many authors share. */
  #profileTerms(index: number): readonly string[] {
    const { authors } = this.#drafts;
    const { city, home } = authors.livesIn(index);
    const verified = authors.isVerified(index);
    return getOrMake(this.#profiles, `${home === undefined ? '' : city} ${verified}`, () =>
      termsOf({
        author: { ...NO_AUTHOR, verified, homes: home === undefined ? [] : [homeIn(home)] },
      }),
    );
  }

  /** The terms of a quote of an author's post, without the terms of the post's id. */
  #quoteTerms(author: number): readonly string[] {
    const links = [pageLink({ ...ANY_POST, author }, this.#drafts)];
    const terms = termsOf({ text: SHORT_LINK, isQuote: true, links });
    return terms.filter(term => !/^\d/.test(term));
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

/** Matches terms that `#hasComputed` may find: the code of a short link, or words of digits. */
const COMPUTED = /^(?:[a-z0-9]{10}|\d+)$/;

/** A post of which only the author is used. */
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

const NOBODY = { id: '', handle: '', writtenHandle: '' };

const NO_AUTHOR: AuthorFields = {
  ...NOBODY,
  name: '',
  bio: '',
  location: '',
  url: '',
  image: '',
  verified: undefined,
  protected: undefined,
  createdAt: undefined,
  statuses: undefined,
  followers: undefined,
  friends: undefined,
  listed: undefined,
  favorites: undefined,
  homes: [],
};

/** A post without any terms. */
const NOTHING: PostFields = {
  id: '',
  text: '',
  link: '',
  hashtags: [],
  cashtags: [],
  mentions: [],
  links: [],
  media: [],
  author: NO_AUTHOR,
  replyTo: undefined,
  repliedId: '',
  retweeted: undefined,
  isQuote: false,
  quotedId: '',
  favorites: undefined,
  retweets: undefined,
  replies: undefined,
  quotes: undefined,
  possiblySensitive: undefined,
  withheldIn: undefined,
  isNullcast: false,
  lang: '',
  place: undefined,
  position: undefined,
  source: { name: '', link: '' },
  quoted: undefined,
  quotedText: '',
};

/** The words that all short links have. */
const SHORT_LINK = 'https://t.co/';

const REPLY_TERMS = termsOf({ replyTo: NOBODY });
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

function placeFields({ code, country, region, name, id }: SamplePlace): Partial<PostFields> {
  const fullName = `${name}, ${region}`;
  const place = { id, name, fullName, countryCode: code, country, type: 'city', corners: [] };
  return { place };
}

function homeIn({ code, region, name }: SamplePlace): Home {
  return { countryCode: code, region, subregion: '', locality: name, position: undefined };
}

function mediaFields(type: string): Partial<PostFields> {
  return { text: SHORT_LINK, media: [{ type, url: '' }] };
}

function linkTo(expanded: string, display: string): Link {
  return { url: '', expanded, unwound: '', display, title: '', description: '' };
}

/** The link in a quote to the quoted post. */
function pageLink(quoted: SampleHead, drafts: SampleDrafts): Link {
  const page = postPage(quoted, drafts);
  return linkTo(page, pageDisplay(page));
}

function postWith(fields: Partial<PostFields>): RulePost {
  return new RulePost({ ...NOTHING, ...fields }, SEARCH);
}

function termsOf(fields: Partial<PostFields>): readonly string[] {
  return termsOfPost(postWith(fields));
}

/** The terms of a post. Terms of empty fields, which are only a prefix, are removed. */
function termsOfPost(post: RulePost): readonly string[] {
  return [...postTerms(post)].filter(term => !term.endsWith(':') && !term.endsWith('@'));
}
