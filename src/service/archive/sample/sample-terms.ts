import { dialectOf } from '../../../rules/dialect.js';
import { sourceKey, termsOfWords } from '../../../rules/post-terms.js';
import { fold, isSingle, tokenise } from '../../../rules/tokeniser.js';
import { seedOf } from './random.js';
import { langOf } from './render-details.js';
import { pageDisplay, pageOf } from './render-entities.js';
import { AUTHORS } from './sample-authors.js';
import { idOf, type SampleDraft, type SampleDrafts } from './sample-draft.js';
import { fragmentKey, MENTION } from './sample-fragments.js';
import { PLACES } from './sample-places.js';
import { trailingLinks } from './sample-text.js';
import { type SampleSource, SOURCES } from './sample-things.js';

const SEARCH = dialectOf('search');
const { accents } = SEARCH;

/** Numbers of terms that name a person: one list of posts for handle and id. */
const PEOPLE = { 'from:': 0, '@': 1, 'to:': 2, 'retweets_of:': 3 } as const;
type Relation = keyof typeof PEOPLE;
const WORDS_FROM = 4 * AUTHORS;
/** Numbers from here on are hashes of terms that hardly any two posts share. */
const HASHES_FROM = 0x4000_0000;

interface FragmentTerms {
  readonly numbers: readonly number[];
  /** Its first and last word where neighbours join them (`isSingle`); of none or another kind, ''. */
  readonly first: string;
  readonly last: string;
  readonly hasWords: boolean;
}

/**
 * The terms of search (`PostTerms.terms`) of a sample post, read off its draft: the same as of the
 * post written out, at a hundredth of the cost. Terms are numbers. Words are numbered as they come
 * up; what is peculiar to a post, such as the id of the post that it answers, is a hash.
 */
export class SampleTerms {
  readonly #drafts: SampleDrafts;
  readonly #words = new Map<string, number>();
  readonly #fragments = new Map<number, FragmentTerms>();
  readonly #profiles = new Map<number, readonly number[]>();
  readonly #places: (readonly number[])[] = [];
  #authorsById: Map<string, number> | undefined;

  constructor(drafts: SampleDrafts) {
    this.#drafts = drafts;
  }

  /** Numbers under which posts with this term may be found; where a hash is among them, others too. */
  numbersOf(term: string): readonly number[] {
    for (const relation of Object.keys(PEOPLE) as Relation[]) {
      if (!term.startsWith(relation)) continue;
      const author = this.#authorOf(term.slice(relation.length));
      return author === undefined ? [] : [personNumber(relation, author)];
    }
    const word = this.#words.get(term);
    return word === undefined ? [hashOf(term)] : [word, hashOf(term)];
  }

  /** Whether a post found under this number has to be asked whether it `has` the term. */
  static isHash(number: number): boolean {
    return number >= HASHES_FROM;
  }

  /** Whether a term that was found by its hash is really there. */
  has(draft: SampleDraft, term: string): boolean {
    const content = this.#contentOf(draft);
    for (const own of this.#peculiar(draft, content)) if (own === term) return true;
    return false;
  }

  /** All of a draft's terms, some twice. */
  collect(draft: SampleDraft, into: number[]): void {
    const content = this.#contentOf(draft);
    this.#collectText(draft, content, into);
    for (const term of this.#peculiar(draft, content))
      into.push(this.#words.get(term) ?? hashOf(term));
    into.push(personNumber('from:', draft.author), ...this.#profileOf(draft.author));
    const { target } = draft;
    if (target !== undefined && draft.kind === 'reply')
      into.push(personNumber('to:', target.author), this.#word('is:reply'));
    if (target !== undefined && draft.kind === 'retweet')
      into.push(personNumber('retweets_of:', target.author), this.#word('is:retweet'));
    if (content.kind === 'quote') into.push(this.#word('is:quote'));
    into.push(this.#word(`lang:${langOf(content)}`));
    const { name, link } = SOURCES[draft.source] as SampleSource;
    into.push(this.#source(name), this.#source(link));
    if (draft.place >= 0) into.push(...this.#placeTerms(draft.place));
    if (content.media > 0) into.push(this.#word('has:media'));
    if (content.media > 0 && content.media < 5) into.push(this.#word('has:images'));
    if (content.media === 5) into.push(this.#word('has:videos'));
  }

  /** The draft whose text counts: of a retweet, the shared one. */
  #contentOf(draft: SampleDraft): SampleDraft {
    return draft.kind === 'retweet' && draft.target !== undefined
      ? this.#drafts.draftOf(draft.target)
      : draft;
  }

  #collectText(draft: SampleDraft, content: SampleDraft, into: number[]): void {
    let before = '';
    let hasLinks = content.kind === 'quote';
    let hasMentions = false;
    let hasTags = false;
    let hasSymbols = false;
    if (content !== draft) {
      into.push(this.#word('rt'));
      const { numbers } = this.#fragmentTerms(fragmentKey(MENTION, content.author));
      for (const number of numbers) into.push(number);
      hasMentions = true;
    }
    for (const key of content.parts) {
      const { entity } = this.#drafts.fragments.get(key);
      const terms = this.#fragmentTerms(key);
      for (const number of terms.numbers) into.push(number);
      if (before !== '' && terms.first !== '') into.push(this.#word(before + terms.first));
      if (terms.hasWords) before = terms.last;
      if (entity === undefined) continue;
      hasLinks ||= entity.kind === 'link';
      hasMentions ||= entity.kind === 'mention';
      hasTags ||= entity.kind === 'hashtag';
      hasSymbols ||= entity.kind === 'symbol';
    }
    if (hasLinks) into.push(this.#word('has:links'));
    if (hasMentions) into.push(this.#word('has:mentions'));
    if (hasTags) into.push(this.#word('has:hashtags'));
    if (hasSymbols) into.push(this.#word('has:symbols'));
  }

  /** Terms that belong to this post, or to the few that share or answer the same one. */
  *#peculiar(draft: SampleDraft, content: SampleDraft): Generator<string> {
    const { target } = draft;
    if (target !== undefined && draft.kind === 'reply')
      yield `in_reply_to_status_id:${idOf(target)}`;
    if (target !== undefined && draft.kind === 'retweet')
      yield `retweets_of_status_id:${idOf(target)}`;
    for (const url of trailingLinks(content)) yield* wordTerms(url);
    if (content.kind !== 'quote' || content.target === undefined) return;
    const page = pageOf(content.target, this.#drafts);
    yield* wordTerms(page);
    yield* wordTerms(pageDisplay(page));
  }

  #fragmentTerms(key: number): FragmentTerms {
    let terms = this.#fragments.get(key);
    if (terms === undefined) {
      terms = this.#readFragment(key);
      this.#fragments.set(key, terms);
    }
    return terms;
  }

  #readFragment(key: number): FragmentTerms {
    const { text, entity } = this.#drafts.fragments.get(key);
    const { words } = tokenise(text.replaceAll('&amp;', '&'), accents);
    const numbers = new Set([...termsOfWords(words)].map(term => this.#word(term)));
    if (entity?.kind === 'hashtag') numbers.add(this.#word(`#${fold(entity.text, accents)}`));
    if (entity?.kind === 'symbol') numbers.add(this.#word(`$${fold(entity.text, accents)}`));
    if (entity?.kind === 'mention') numbers.add(personNumber('@', entity.author));
    if (entity?.kind === 'link')
      for (const shown of [entity.link.url, entity.link.display])
        for (const term of wordTerms(shown)) numbers.add(this.#word(term));
    const [first = '', last = ''] = [words[0], words.at(-1)];
    return {
      numbers: [...numbers],
      first: first !== '' && isSingle(first) ? first : '',
      last: last !== '' && isSingle(last) ? last : '',
      hasWords: words.length > 0,
    };
  }

  /** Where an author is at home and whether the author is verified. */
  #profileOf(index: number): readonly number[] {
    let numbers = this.#profiles.get(index);
    if (numbers === undefined) {
      const { home, verified } = this.#drafts.authors.at(index);
      numbers = [
        ...(verified ? ['is:verified'] : []),
        ...(home === undefined
          ? []
          : [
              'has:profile_geo',
              `profile_country:${home.code}`,
              ...[...wordTerms(home.region)].map(term => `profile_region:${term}`),
              ...[...wordTerms(home.name)].map(term => `profile_locality:${term}`),
            ]),
      ].map(term => this.#word(term));
      this.#profiles.set(index, numbers);
    }
    return numbers;
  }

  #placeTerms(index: number): readonly number[] {
    let numbers = this.#places[index];
    const place = PLACES[index];
    if (numbers === undefined && place !== undefined) {
      const words = [place.name, `${place.name}, ${place.region}`, place.id].flatMap(text => [
        ...wordTerms(text),
      ]);
      const terms = [
        'has:geo',
        `place_country:${place.code}`,
        ...words.map(term => `place:${term}`),
      ];
      numbers = [...new Set(terms)].map(term => this.#word(term));
      this.#places[index] = numbers;
    }
    return numbers ?? [];
  }

  #source(text: string): number {
    return this.#word(`source:${sourceKey(text, SEARCH)}`);
  }

  #word(term: string): number {
    let number = this.#words.get(term);
    if (number === undefined) {
      number = WORDS_FROM + this.#words.size;
      this.#words.set(term, number);
    }
    return number;
  }

  /** By handle, which ends in the author's number, or by id. */
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

function wordTerms(text: string): Generator<string> {
  return termsOfWords(tokenise(text, accents).words);
}

function hashOf(term: string): number {
  return HASHES_FROM + ((seedOf(term).b >>> 2) & 0x3fff_ffff);
}
