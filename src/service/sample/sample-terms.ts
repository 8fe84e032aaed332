import { hasValues, isValues } from '../../rules/operators/flag-operators.js';
import { sourceKey } from '../../rules/operators/value-operators.js';
import { dialectOf } from '../../rules/post/dialect.js';
import { wordTerms } from '../../rules/post/phrase.js';
import { fold, HASH_START, hashText, isSingle, tokenise } from '../../rules/post/tokeniser.js';
import { getOrMake } from '../get-or-make.js';
import { LANGUAGES } from './languages.js';
import { pageDisplay, pageOf } from './render-entities.js';
import { AUTHORS } from './sample-authors.js';
import { idOf, type SampleDraft, type SampleDrafts } from './sample-draft.js';
import { type FragmentEntity, fragmentKey, MENTION } from './sample-fragments.js';
import { PLACES, type SamplePlace } from './sample-places.js';
import { trailingLinks } from './sample-text.js';
import { SOURCES } from './sample-vocabulary.js';

const SEARCH = dialectOf('search');

/** Terms that name the same user, by handle or id, share a number. */
const PEOPLE = { 'from:': 0, '@': 1, 'to:': 2, 'retweets_of:': 3 } as const;
type Relation = keyof typeof PEOPLE;
const WORDS_FROM = 4 * AUTHORS;
/** Numbers from here on are hashes of rare terms. */
const HASHES_FROM = 0x4000_0000;

interface FragmentTerms {
  readonly numbers: readonly number[];
  readonly kind: FragmentEntity['kind'] | undefined;
  /** Its first and last word if it is `isSingle`, because adjacent ones form a pair; otherwise ''. */
  readonly first: string;
  readonly last: string;
  readonly hasWords: boolean;
}

/**
 * The search terms of a sample post, derived from its draft: the same as `postTerms` of the printed
 * post. A first search of 30 days (150,000 posts) for a rare word takes about 1 s with it, and 45 s if
 * each post is printed and parsed (7 and 295 µs a post).
 *
 * Terms are numbers. Words are numbered in order of first use; the number of a rare term,
 * such as the id of the post that it replies to, is a hash.
 */
export class SampleTerms {
  readonly #drafts: SampleDrafts;
  readonly #words = new Map<string, number>();
  readonly #fragments = new Map<number, FragmentTerms>();
  readonly #profiles: (readonly number[])[] = [];
  #authorsById: Map<string, number> | undefined;

  readonly #is = this.#flags('is:', isValues);
  readonly #has = this.#flags('has:', hasValues);
  readonly #languages = LANGUAGES.map(({ code }) => this.#word(`lang:${code}`));
  readonly #wordless = this.#word('lang:und');
  readonly #sources = SOURCES.map(({ name, link }) =>
    [name, link].map(text => this.#word(`source:${sourceKey(text, SEARCH)}`)),
  );
  readonly #places = PLACES.map(place => this.#placeTerms(place));
  readonly #retweet = this.#word('rt');
  readonly #shortLink = ['https', 't', 'co'].map(word => this.#word(word));

  constructor(drafts: SampleDrafts) {
    this.#drafts = drafts;
  }

  /** The numbers that stand for this term. A hash among them may also be that of another term. */
  numbersOf(term: string): readonly number[] {
    for (const relation of Object.keys(PEOPLE) as Relation[]) {
      if (!term.startsWith(relation)) continue;
      const author = this.#authorOf(term.slice(relation.length));
      return author === undefined ? [] : [personNumber(relation, author)];
    }
    const word = this.#words.get(term);
    return word === undefined ? [hashOf(term)] : [word, hashOf(term)];
  }

  /** Whether a post with this number must be confirmed by `has`. */
  static isHash(number: number): boolean {
    return number >= HASHES_FROM;
  }

  /** Whether a draft really has a term that was found by its hash. */
  has(draft: SampleDraft, term: string): boolean {
    return this.#rareTerms(draft, this.#contentOf(draft)).includes(term);
  }

  /** Adds all terms of a draft, some of them twice. */
  collect(draft: SampleDraft, into: number[]): void {
    const content = this.#contentOf(draft);
    this.#collectText(draft, content, into);
    for (const term of this.#rareTerms(draft, content))
      into.push(this.#words.get(term) ?? hashOf(term));
    into.push(personNumber('from:', draft.author), ...this.#profileOf(draft.author));
    const { target } = draft;
    if (target !== undefined && draft.kind === 'reply')
      into.push(personNumber('to:', target.author), this.#is.reply);
    if (target !== undefined && draft.kind === 'retweet')
      into.push(personNumber('retweets_of:', target.author), this.#is.retweet);
    if (content.kind === 'quote') into.push(this.#is.quote);
    const language = content.isWordless ? undefined : this.#languages[content.language];
    into.push(language ?? this.#wordless, ...(this.#sources[draft.source] ?? []));
    if (draft.place >= 0) into.push(...(this.#places[draft.place] ?? []));
    const { media } = content;
    if (media === 0) return;
    into.push(this.#has.media);
    if (media < 5) into.push(this.#has.images);
    if (media === 5) into.push(this.#has.videos);
  }

  /** The draft that has the text: for a retweet, the shared one. */
  #contentOf(draft: SampleDraft): SampleDraft {
    return draft.kind === 'retweet' && draft.target !== undefined
      ? this.#drafts.draftOf(draft.target)
      : draft;
  }

  #collectText(draft: SampleDraft, content: SampleDraft, into: number[]): void {
    const isQuote = content.kind === 'quote';
    const seen = { hashtag: false, symbol: false, mention: false, link: isQuote };
    if (content !== draft) {
      into.push(this.#retweet);
      seen.mention = true;
      const { numbers } = this.#fragmentTerms(fragmentKey(MENTION, content.author));
      for (const number of numbers) into.push(number);
    }
    let before = '';
    for (const key of content.parts) {
      const { numbers, kind, first, last, hasWords } = this.#fragmentTerms(key);
      for (const number of numbers) into.push(number);
      if (before !== '' && first !== '') into.push(this.#word(before + first));
      if (hasWords) before = last;
      if (kind !== undefined) seen[kind] = true;
    }
    if (isQuote || content.media > 0) for (const word of this.#shortLink) into.push(word);
    if (seen.link) into.push(this.#has.links);
    if (seen.mention) into.push(this.#has.mentions);
    if (seen.hashtag) into.push(this.#has.hashtags);
    if (seen.symbol) into.push(this.#has.symbols);
  }

  /** Rare terms: those of this post, and of the few that share or reply to the same one. */
  #rareTerms(draft: SampleDraft, content: SampleDraft): readonly string[] {
    const { kind, target } = draft;
    const terms = trailingLinks(content).map(url =>
      url.slice('https://t.co/'.length).toLowerCase(),
    );
    if (target !== undefined && kind === 'reply')
      terms.push(`in_reply_to_status_id:${idOf(target)}`);
    if (target !== undefined && kind === 'retweet')
      terms.push(`retweets_of_status_id:${idOf(target)}`);
    if (content.kind === 'quote' && content.target !== undefined) {
      const page = pageOf(content.target, this.#drafts);
      terms.push(...wordTermsOf(page), ...wordTermsOf(pageDisplay(page)));
    }
    return terms;
  }

  #fragmentTerms(key: number): FragmentTerms {
    return getOrMake(this.#fragments, key, () => this.#readFragment(key));
  }

  #readFragment(key: number): FragmentTerms {
    const { text, entity } = this.#drafts.fragments.get(key);
    const { words } = tokenise(text.replaceAll('&amp;', '&'), SEARCH.accents);
    const terms = [...wordTerms(words)];
    if (entity?.kind === 'hashtag') terms.push(`#${fold(entity.text, SEARCH.accents)}`);
    if (entity?.kind === 'symbol') terms.push(`$${fold(entity.text, SEARCH.accents)}`);
    if (entity?.kind === 'link')
      terms.push(...wordTermsOf(entity.link.url), ...wordTermsOf(entity.link.display));
    const numbers = new Set(terms.map(term => this.#word(term)));
    if (entity?.kind === 'mention') numbers.add(personNumber('@', entity.author));
    const [first = '', last = ''] = [words[0], words.at(-1)];
    return {
      numbers: [...numbers],
      kind: entity?.kind,
      first: first !== '' && isSingle(first) ? first : '',
      last: last !== '' && isSingle(last) ? last : '',
      hasWords: words.length > 0,
    };
  }

  /** The terms of an author's home and verification. */
  #profileOf(index: number): readonly number[] {
    const { authors } = this.#drafts;
    this.#profiles[index] ??= [
      ...(authors.isVerified(index) ? [this.#is.verified] : []),
      ...this.#homeTerms(authors.livesIn(index).home),
    ];
    return this.#profiles[index];
  }

  #homeTerms(home: SamplePlace | undefined): readonly number[] {
    if (home === undefined) return [];
    const { code, region, name } = home;
    const terms = [
      `profile_country:${code}`,
      ...wordTermsOf(region).map(term => `profile_region:${term}`),
      ...wordTermsOf(name).map(term => `profile_locality:${term}`),
    ];
    return [this.#has.profile_geo, ...terms.map(term => this.#word(term))];
  }

  #placeTerms({ code, region, name, id }: SamplePlace): readonly number[] {
    const words = [name, `${name}, ${region}`, id].flatMap(wordTermsOf);
    const terms = new Set([`place_country:${code}`, ...words.map(term => `place:${term}`)]);
    return [this.#has.geo, ...[...terms].map(term => this.#word(term))];
  }

  #word(term: string): number {
    return getOrMake(this.#words, term, () => WORDS_FROM + this.#words.size);
  }

  #flags<Name extends string>(
    prefix: string,
    names: readonly Name[],
  ): Readonly<Record<Name, number>> {
    const flags = names.map(name => [name, this.#word(prefix + name)] as const);
    return Object.fromEntries(flags) as Record<Name, number>;
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

function personNumber(relation: Relation, author: number): number {
  return PEOPLE[relation] * AUTHORS + author;
}

function wordTermsOf(text: string): readonly string[] {
  return [...wordTerms(tokenise(text, SEARCH.accents).words)];
}

function hashOf(term: string): number {
  return HASHES_FROM + (hashText(HASH_START, term) >>> 2);
}
