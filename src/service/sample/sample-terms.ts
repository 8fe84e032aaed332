import type { PostFields } from '../../post/post-fields.js';
import { DocumentSet } from '../archive/block.js';
import { getOrMake } from '../cache.js';
import { AuthorAtoms } from './author-atoms.js';
import { pageLink, placeFields, termsOf } from './partial-posts.js';
import {
  ANIMATION,
  type AtomIndex,
  type AtomList,
  AtomSet,
  FROM,
  IMAGES,
  LANGUAGE,
  QUOTES,
  RETWEETS_OF,
  SOURCE,
  TAGGED_PLACE,
  TO,
  VIDEO,
  WORDLESS,
} from './sample-atoms.js';
import type { SampleDraft, SampleDrafts, SampleHead } from './sample-draft.js';
import { FRAGMENTS, fragmentKey, MENTION } from './sample-fragments.js';
import { mediaLink, quoteLink } from './sample-text.js';
import { LANGUAGES, PLACES, SHORT_LINK, SOURCES } from './sample-vocabulary.js';
import { type PairedAtoms, TextAtoms } from './text-atoms.js';

/** The maximum number of search terms whose lookups are cached, with 35 KB each, or 105 KB for a pair. */
const MAX_LOOKUPS = 256;

/**
 * The result of looking up a search term. A post has the term if it contains one of these atoms (numbers for
 * properties of a post) or one of these pairs of words.
 */
interface Lookup {
  readonly atoms: AtomSet;
  readonly pairs: PairedAtoms | undefined;
  /** Whether no post has the term. Most words are in no post. */
  readonly isNowhere: boolean;
}

/**
 * Finds sample posts by the search terms of `postTerms`, without printing a post.
 *
 * A post is stored as about seven atoms: the keys of its fragments, and numbers for its author, language and
 * so on. The terms of an atom are the terms that `postTerms` returns for a post with only the fields of this
 * atom. A post has a term if one of its atoms has it.
 *
 * Two kinds of terms do not come from one atom. Two adjacent fragments may form a term of two characters. Ids
 * and short links are computed from the post.
 */
export class SampleTerms {
  readonly #drafts: SampleDrafts;
  readonly #authors: AuthorAtoms;
  /**
   * Created for the first lookup, because creating it takes 20 ms. A search for the posts of an author needs
   * no lookup.
   */
  #texts: TextAtoms | undefined;
  /** The atoms for languages, sources, places and media, by search term. */
  readonly #properties = new Map<string, number[]>();
  readonly #lookups = new Map<string, Lookup>();

  constructor(drafts: SampleDrafts) {
    this.#drafts = drafts;
    this.#authors = new AuthorAtoms(drafts.authors);
    for (const [i, { code }] of LANGUAGES.entries()) this.#add(LANGUAGE + i, { lang: code });
    this.#add(WORDLESS, { lang: 'und' });
    for (const [i, source] of SOURCES.entries()) this.#add(SOURCE + i, { source });
    for (const [i, place] of PLACES.entries()) this.#add(TAGGED_PLACE + i, placeFields(place));
    this.#add(IMAGES, mediaFields('photo'));
    this.#add(VIDEO, mediaFields('video'));
    this.#add(ANIMATION, mediaFields('animated_gif'));
  }

  #add(atom: number, fields: Partial<PostFields>): void {
    for (const term of termsOf(fields)) getOrMake(this.#properties, term, () => []).push(atom);
  }

  /**
   * Appends the atoms (numbers for properties) of a post to `atoms`. The atoms of its text come first, in
   * order.
   */
  collect(draft: SampleDraft, atoms: AtomList): void {
    const { kind, target } = draft;
    // A retweet has the text of the retweeted post.
    const isRetweet = kind === 'retweet' && target !== undefined;
    const content = isRetweet ? this.#drafts.targetDraft(target) : draft;
    if (isRetweet) atoms.push(fragmentKey(MENTION, target.author));
    for (const key of content.parts) atoms.push(key);
    if (content.kind === 'quote' && content.target !== undefined)
      atoms.push(QUOTES + content.target.author);
    atoms.push(FROM + draft.author);
    if (isRetweet) atoms.push(RETWEETS_OF + target.author);
    if (kind === 'reply' && target !== undefined) atoms.push(TO + target.author);
    atoms.push(content.isWordless ? WORDLESS : LANGUAGE + content.language);
    atoms.push(SOURCE + draft.source);
    if (draft.place >= 0) atoms.push(TAGGED_PLACE + draft.place);
    const { media } = content;
    if (media > 0) atoms.push(media < 5 ? IMAGES : media === 5 ? VIDEO : ANIMATION);
  }

  /** Returns whether no generated post can have the term. A search for it needs no index of the posts. */
  isNowhere(term: string): boolean {
    return this.#lookup(term).isNowhere;
  }

  find(
    term: string,
    { starts, atoms }: AtomIndex,
    headAt: (document: number) => SampleHead,
  ): DocumentSet {
    const lookup = this.#lookup(term);
    const count = starts.length - 1;
    const found = new DocumentSet(count);
    let document = 0;
    for (let at = 0; at < atoms.length; at++) {
      if (!lookup.atoms.has(atoms[at] as number)) continue;
      while ((starts[document + 1] as number) <= at) document++;
      found.add(document);
    }
    const { pairs } = lookup;
    if (pairs !== undefined)
      for (let i = 0; i < count; i++) if (hasPair(pairs, atoms, starts[i] as number)) found.add(i);
    if (COMPUTED.test(term))
      for (let i = 0; i < count; i++) {
        const own = atoms.subarray(starts[i], starts[i + 1]);
        if (this.#hasComputed(term, own, () => headAt(i))) found.add(i);
      }
    return found;
  }

  authorOf(name: string): number | undefined {
    return this.#authors.named(name);
  }

  #lookup(term: string): Lookup {
    if (this.#lookups.size > MAX_LOOKUPS) this.#lookups.clear();
    return getOrMake(this.#lookups, term, () => {
      this.#texts ??= new TextAtoms();
      const found = [
        ...(this.#properties.get(term) ?? []),
        ...this.#authors.with(term),
        ...this.#texts.with(term),
      ];
      const pairs = this.#texts.pairs(term);
      return {
        atoms: new AtomSet(found),
        pairs,
        isNowhere: found.length === 0 && pairs === undefined && !COMPUTED.test(term),
      };
    });
  }

  /**
   * Returns whether a post has a term that is computed from the post, and that no atom stands for. Such terms
   * are the code of a short link, and the id in the link to a quoted post.
   */
  #hasComputed(term: string, atoms: Int32Array, headAt: () => SampleHead): boolean {
    const hasMedia = atoms.some(atom => atom >= IMAGES);
    const isQuote = atoms.some(atom => atom >= QUOTES && atom < LANGUAGE);
    if (!hasMedia && !isQuote) return false;
    const head = headAt();
    const { target } = head;
    const content = head.kind === 'retweet' && target !== undefined ? target : head;
    const codeOf = (url: string) => url.slice(SHORT_LINK.length).toLowerCase();
    if (hasMedia && codeOf(mediaLink(content)) === term) return true;
    if (!isQuote || content.target === undefined) return false;
    if (codeOf(quoteLink(content.target)) === term) return true;
    return (
      /^\d/.test(term) &&
      termsOf({ links: [pageLink(content.target, this.#drafts)] }).includes(term)
    );
  }
}

/**
 * Returns whether the post at `start` has a pair of words that spans two fragments. The first word must end
 * a fragment, and the second word must begin the next fragment.
 */
function hasPair(
  { ends, starts, wordless }: PairedAtoms,
  atoms: Int32Array,
  start: number,
): boolean {
  let isAfterFirst = false;
  for (let at = start; (atoms[at] as number) < FRAGMENTS; at++) {
    const key = atoms[at] as number;
    if (isAfterFirst && starts.has(key)) return true;
    isAfterFirst = ends.has(key) || (isAfterFirst && wordless.has(key));
  }
  return false;
}

/**
 * `#hasComputed` is called only for terms that match: ten characters, like the code of a short link, or a
 * number, like the id in the link to a post.
 */
const COMPUTED = /^(?:[a-z0-9]{10}|\d+)$/;

function mediaFields(type: string): Partial<PostFields> {
  return { text: SHORT_LINK, media: [{ type, url: '' }] };
}
