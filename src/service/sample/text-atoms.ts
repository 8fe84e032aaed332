import type { PostFields } from '../../post/post-fields.js';
import { wordTerms } from '../../rules/post/phrase.js';
import { isSingle } from '../../rules/post/tokeniser.js';
import { getOrMake } from '../cache.js';
import { linkTo, termsOf, wordsIn } from './partial-posts.js';
import { AtomSet } from './sample-atoms.js';
import {
  CASHTAG,
  EMOTION,
  fragmentKey,
  hashtagOf,
  LINK,
  leadKey,
  NAME,
  remarkKey,
  sentenceKey,
  tagKey,
  WORDS,
  wordAt,
} from './sample-fragments.js';
import {
  CASHTAGS,
  CODE_LENGTH,
  COMMON_TAGS,
  EMOJI,
  LANGUAGES,
  LINKS,
  languageAt,
  linkCode,
  linkText,
  namesEqualTo,
  SHORT_LINK,
} from './sample-vocabulary.js';
import { WordSearch } from './word-search.js';

/**
 * A part of the text of one or more fragments: a whole fragment, or the text before, in or after the gap of a
 * sentence.
 */
interface Part {
  readonly words: readonly string[];
  /** The first and the last word of the part. `undefined` if `isSingle` is false for the word. */
  readonly first: string | undefined;
  readonly last: string | undefined;
  /** The fragments that contain the part. */
  readonly keys: readonly number[];
}

/**
 * The fragments that may form a term with a neighbour: one fragment ends with a one-character word, and the
 * next one begins with another.
 */
export interface PairedAtoms {
  /** The fragments that end with the first word. */
  readonly ends: AtomSet;
  /** The fragments that begin with the second word. */
  readonly starts: AtomSet;
  readonly wordless: AtomSet;
}

/**
 * Finds the fragments of text that have a search term, except for mentions (see `AuthorAtoms`). A month has
 * 12,000 different sentences, but these consist of only 1,300 parts, so terms are collected by part.
 */
export class TextAtoms {
  /**
   * The fragments by term. Lacks links, names, and terms of tags that begin with `#` or `$` or contain a
   * colon.
   */
  readonly #byTerm = new Map<string, (readonly number[])[]>();
  /**
   * The fragments whose first word has only one character, by that word. `#byLast` does the same for the last
   * word.
   */
  readonly #byFirst = new Map<string, number[]>();
  readonly #byLast = new Map<string, number[]>();
  readonly #wordless = new AtomSet();
  /**
   * One entry for each hashtag or cashtag. `fields` has the tag. `keys` are the numbers of the fragments that
   * contain it.
   */
  readonly #tags: { readonly fields: Partial<PostFields>; readonly keys: readonly number[] }[] = [];
  #byTag: ReadonlyMap<string, (readonly number[])[]> | undefined;
  readonly #links = new WordSearch(LINKS, linkText);
  readonly #codes = new WordSearch(LINKS, linkCode);

  constructor() {
    for (const number of LANGUAGES.keys()) this.#addLanguage(number);
    for (const [i, text] of EMOJI.entries()) this.#addText(text, fragmentKey(EMOTION, i));
    for (const [i, tag] of COMMON_TAGS.entries()) {
      const key = tagKey(0, WORDS + i);
      this.#addText(tag, key);
      this.#tags.push({ fields: { hashtags: [tag] }, keys: [key] });
    }
    for (const [i, symbol] of CASHTAGS.entries()) {
      const key = fragmentKey(CASHTAG, i);
      this.#addText(symbol, key);
      this.#tags.push({ fields: { cashtags: [symbol] }, keys: [key] });
    }
  }

  /** Yields the atoms of the fragments that have a term. */
  *with(term: string): Generator<number> {
    for (const keys of this.#byTerm.get(term) ?? []) yield* keys;
    // `#byTerm` lacks the terms of tags that begin with `#` or `$`, or contain a colon.
    if (/^[#$]|:/.test(term)) for (const keys of this.#tagTerms().get(term) ?? []) yield* keys;
    if (LINK_TERMS.includes(term)) for (let i = 0; i < LINKS; i++) yield fragmentKey(LINK, i);
    else for (const link of this.#links.find(term)) yield fragmentKey(LINK, link);
    if (term.length === CODE_LENGTH)
      for (const link of this.#codes.find(term)) yield fragmentKey(LINK, link);
    for (const name of namesEqualTo(term)) yield fragmentKey(NAME, name);
  }

  /** Returns the fragments that may form a term with the next fragment; `undefined` if no fragments do. */
  pairs(term: string): PairedAtoms | undefined {
    const [first = '', second = '', ...rest] = wordsIn(term);
    const [ends, starts] = [this.#byLast.get(first), this.#byFirst.get(second)];
    // The term of an operator or a tag contains more than words, for example `:` or `#`. Such a term is not a
    // pair of words.
    if (rest.length > 0 || first + second !== term || !ends || !starts) return undefined;
    return { ends: new AtomSet(ends), starts: new AtomSet(starts), wordless: this.#wordless };
  }

  #addLanguage(number: number): void {
    const language = languageAt(number);
    for (const [i, text] of language.remarks.entries()) this.#addText(text, remarkKey(number, i));
    for (const [i, text] of language.leads.entries()) this.#addText(text, leadKey(number, i));
    const sentences = [...language.sentences.keys()];
    const words = Array.from({ length: WORDS }, (_, word): Part => {
      const keys = sentences.map(sentence => sentenceKey(number, sentence, word, false));
      return this.#addPart(wordAt(language, word), keys);
    });
    for (let word = 0; word < WORDS; word++) {
      const tag = hashtagOf(language, word);
      const keys = sentences.map(sentence => sentenceKey(number, sentence, word, true));
      words.push(this.#addPart(tag, keys));
      this.#addText(tag, tagKey(number, word));
      this.#tags.push({ fields: { hashtags: [tag] }, keys: [...keys, tagKey(number, word)] });
    }
    for (const [i, sentence] of language.sentences.entries()) {
      const [before = '', after = ''] = sentence.split('%');
      const keys = words.map(({ keys }) => keys[i] as number);
      const [start, end] = [this.#addPart(before, keys), this.#addPart(after, keys)];
      for (const [at, word] of words.entries())
        this.#addEdges(keys[at] as number, [start, word, end]);
    }
  }

  /** Records the terms of a fragment that consists of one part. */
  #addText(text: string, key: number): void {
    this.#addEdges(key, [this.#addPart(text, [key])]);
  }

  #addPart(text: string, keys: readonly number[]): Part {
    const words = wordsIn(text.replaceAll('&amp;', '&'));
    for (const term of new Set(wordTerms(words)))
      getOrMake(this.#byTerm, term, () => []).push(keys);
    const [first, last] = [words[0], words.at(-1)].map(word =>
      word !== undefined && isSingle(word) ? word : undefined,
    );
    return { words, first, last, keys };
  }

  /**
   * Records the one-character words at the start and end of a fragment, and the pairs of them where two parts
   * meet.
   */
  #addEdges(key: number, parts: readonly Part[]): void {
    let before: Part | undefined;
    for (const part of parts) {
      if (part.words.length === 0) continue;
      const { first } = part;
      if (first !== undefined && before === undefined)
        getOrMake(this.#byFirst, first, () => []).push(key);
      if (first !== undefined && before?.last !== undefined)
        getOrMake(this.#byTerm, before.last + first, () => []).push([key]);
      before = part;
    }
    if (before === undefined) this.#wordless.add(key);
    if (before?.last !== undefined) getOrMake(this.#byLast, before.last, () => []).push(key);
  }

  /**
   * Returns the fragments by the terms of their tags. The map is created at the first call, because few
   * searches are for tags.
   */
  #tagTerms(): ReadonlyMap<string, (readonly number[])[]> {
    if (this.#byTag !== undefined) return this.#byTag;
    const byTag = new Map<string, (readonly number[])[]>();
    for (const { fields, keys } of this.#tags)
      for (const term of termsOf(fields)) getOrMake(byTag, term, () => []).push(keys);
    this.#byTag = byTag;
    return byTag;
  }
}

/** The terms that all links have. */
const LINK_TERMS = termsOf({ text: SHORT_LINK, links: [linkTo('', '')] });
