import { indexedOperators } from '../../rules/operators/post-terms.js';
import { dialectOf } from '../../rules/post/dialect.js';
import {
  ADDRESS,
  DISPLAY,
  type DocumentSet,
  FIELD,
  indexOfText,
  type Occurrence,
  occurrenceAt,
  TEXT,
} from '../archive/block.js';
import { getOrMake } from '../cache.js';
import { homeIn, NO_AUTHOR, pageLink, placeFields, postWith, wordsIn } from './partial-posts.js';
import {
  type AtomIndex,
  FROM,
  IMAGES,
  LANGUAGE,
  QUOTES,
  RETWEETS_OF,
  TAGGED_PLACE,
  TO,
} from './sample-atoms.js';
import type { SampleDrafts, SampleHead } from './sample-draft.js';
import { FRAGMENTS } from './sample-fragments.js';
import { mediaLink, quoteLink } from './sample-text.js';
import { PLACES } from './sample-vocabulary.js';

/** The fields in which search finds words, each with the prefix of its terms. */
const FIELDS = indexedOperators(dialectOf('search')).fields;

type IndexedField = (typeof FIELDS)[number];

interface FragmentWords {
  readonly text: readonly string[];
  readonly address?: readonly string[];
  readonly display?: readonly string[];
}

/** Finds the positions of words in sample posts, without printing a post. */
export class SampleWords {
  readonly #drafts: SampleDrafts;
  readonly #fragments: FragmentWords[] = [];
  /**
   * Caches the words that a place or an author's home adds to a field of a post. The key names the field and
   * the place or home. The value has one list of words for each string of the field.
   */
  readonly #fields = new Map<string, readonly (readonly string[])[]>();

  constructor(drafts: SampleDrafts) {
    this.#drafts = drafts;
  }

  /** Implements `BlockDetails.occurrences`. */
  occurrences(
    term: string,
    { starts, atoms }: AtomIndex,
    among: DocumentSet,
    headAt: (document: number) => SampleHead,
  ): ReadonlyMap<number, readonly Occurrence[]> {
    const found = new Map<number, readonly Occurrence[]>();
    const field = FIELDS.find(({ prefix }) => term.startsWith(prefix));
    for (const document of among.members(0, among.size)) {
      const own = atoms.subarray(starts[document], starts[document + 1]);
      const occurrences: Occurrence[] = [];
      if (field === undefined) this.#findInText(term, own, () => headAt(document), occurrences);
      else this.#findInField(term.slice(field.prefix.length), field, own, occurrences);
      if (occurrences.length > 0) found.set(document, occurrences);
    }
    return found;
  }

  #findInText(
    word: string,
    atoms: Int32Array,
    headAt: () => SampleHead,
    found: Occurrence[],
  ): void {
    // Position 0 is for the word `rt` of a retweet. In other posts, it stays empty.
    if (word === 'rt' && atoms.some(atom => atom >= RETWEETS_OF && atom < QUOTES))
      addOccurrences(found, word, ['rt'], TEXT, 0);
    let position = 1;
    let link = 0;
    let at = 0;
    for (; (atoms[at] as number) < FRAGMENTS; at++) {
      const { text, address, display } = this.#fragmentWords(atoms[at] as number);
      addOccurrences(found, word, text, TEXT, position);
      position += text.length;
      if (address === undefined || display === undefined) continue;
      link++;
      addOccurrences(found, word, address, indexOfText(link, ADDRESS), 0);
      addOccurrences(found, word, display, indexOfText(link, DISPLAY), 0);
    }
    const isQuote = (atoms[at] as number) >= QUOTES && (atoms[at] as number) < LANGUAGE;
    const hasMedia = (atoms.at(-1) as number) >= IMAGES;
    if (!isQuote && !hasMedia) return;
    const head = headAt();
    const content = head.kind === 'retweet' && head.target !== undefined ? head.target : head;
    if (isQuote && content.target !== undefined) {
      const short = quoteLink(content.target);
      addOccurrencesIn(found, word, short, TEXT, position);
      position += SHORT_LINK_WORDS;
      const { expanded, display } = pageLink(content.target, this.#drafts);
      addOccurrencesIn(found, word, expanded, indexOfText(link + 1, ADDRESS), 0);
      addOccurrencesIn(found, word, display, indexOfText(link + 1, DISPLAY), 0);
    }
    if (hasMedia) addOccurrencesIn(found, word, mediaLink(content), TEXT, position);
  }

  #findInField(word: string, field: IndexedField, atoms: Int32Array, found: Occurrence[]): void {
    let number = 0;
    for (const atom of atoms)
      for (const words of this.#fieldWords(field, atom))
        addOccurrences(found, word, words, indexOfText(number++, FIELD), 0);
  }

  /**
   * Returns the words that an atom (a number for a property of a post) adds to a field, one list for each
   * string. Only atoms for a place or for the author of a post have such words.
   */
  #fieldWords({ prefix, texts }: IndexedField, atom: number): readonly (readonly string[])[] {
    const place = PLACES[atom - TAGGED_PLACE];
    const home =
      atom >= FROM && atom < TO ? this.#drafts.authors.livesIn(atom - FROM).home : undefined;
    const of = place ?? home;
    if (of === undefined) return [];
    return getOrMake(this.#fields, `${prefix}${of === place} ${of.id}`, () =>
      texts(
        postWith(
          of === place ? placeFields(of) : { author: { ...NO_AUTHOR, homes: [homeIn(of)] } },
        ),
      ).map(wordsIn),
    );
  }

  #fragmentWords(key: number): FragmentWords {
    const known = this.#fragments[key];
    if (known !== undefined) return known;
    const { text, entity } = this.#drafts.fragments.get(key);
    const words = { text: wordsIn(text.replaceAll('&amp;', '&')) };
    this.#fragments[key] =
      entity?.kind === 'link'
        ? { ...words, address: wordsIn(entity.link.url), display: wordsIn(entity.link.display) }
        : words;
    return this.#fragments[key];
  }
}

/** A short link has the words `https`, `t`, `co` and a code. */
const SHORT_LINK_WORDS = 4;

/**
 * Adds each position at which `word` occurs in `words`. `text` is the number of the string that contains
 * `words`, and `start` is the position of its first word.
 */
function addOccurrences(
  found: Occurrence[],
  word: string,
  words: readonly string[],
  text: number,
  start: number,
): void {
  for (let i = 0; i < words.length; i++)
    if (words[i] === word) found.push(occurrenceAt(text, start + i));
}

/**
 * Adds the positions of a word in a link that is not tokenised yet. Skips the tokeniser if the link cannot
 * contain the word.
 */
function addOccurrencesIn(
  found: Occurrence[],
  word: string,
  link: string,
  text: number,
  start: number,
): void {
  if (link.toLowerCase().includes(word)) addOccurrences(found, word, wordsIn(link), text, start);
}
