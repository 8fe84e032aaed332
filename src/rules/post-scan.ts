import type { Dialect } from './dialect.js';
import { type Lexicon, type Prefix, prefix } from './lexicon.js';
import type { Person, PostFields } from './post-fields.js';
import {
  type FieldOperator,
  fieldTexts,
  HAS_VALUES,
  IS_VALUES,
  indexedFields,
  PostTerms,
  sourceKey,
} from './post-terms.js';
import { hashUnits, Scanner } from './tokeniser.js';

/** How far a token is from the one before: at its side, one blank away, or more. */
export const TOUCHING = 0;
export const ONE_BLANK = 1;
export const APART = 2;

/**
 * One post at a time, as numbers of the lexicon: which of its terms a post has, and its words in
 * their order. The terms are those of `PostTerms.terms` that rules use; nothing is made for others.
 */
export class PostScan {
  readonly #lexicon: Lexicon;
  readonly #dialect: Dialect;
  readonly #scanner: Scanner;
  readonly #fieldOperators: readonly FieldOperator[];
  readonly #pair = new Uint16Array(64);
  #terms: PostTerms | undefined;
  /** The post that each term was last seen in. */
  #stamps = new Int32Array(1024);
  #post = 0;
  /** The terms of the post, `count` of them, each once. */
  present: Int32Array = new Int32Array(1024);
  count = 0;
  /** Words in their order, -1 for one that no rule uses and -2 between two texts. */
  sequence: Int32Array = new Int32Array(1024);
  /** How far each word of the sequence is from the one before. */
  gaps: Uint8Array = new Uint8Array(1024);
  /** Where the words of the texts end and those of addresses begin; and where these end. */
  textsEnd = 0;
  sequenceEnd = 0;

  constructor(lexicon: Lexicon, dialect: Dialect) {
    this.#lexicon = lexicon;
    this.#dialect = dialect;
    this.#scanner = new Scanner(dialect.accents);
    this.#fieldOperators = indexedFields(dialect);
  }

  /** The same post for whatever has no number. */
  get terms(): PostTerms {
    return this.#terms as PostTerms;
  }

  has(term: number): boolean {
    return this.#stamps[term] === this.#post;
  }

  /** The stamps, and the stamp of this post, for loops that ask often. */
  get stamps(): Int32Array {
    return this.#stamps;
  }

  get stamp(): number {
    return this.#post;
  }

  read(fields: PostFields): void {
    this.#begin();
    this.#terms = new PostTerms(fields, this.#dialect);
    const { parts } = this.#terms;
    for (const part of parts) this.#readSequence(part.text);
    this.textsEnd = this.sequenceEnd;
    for (const part of parts)
      for (const { expanded, unwound, display } of part.links) {
        this.#readSequence(expanded);
        if (unwound !== expanded) this.#readSequence(unwound);
        this.#readSequence(display);
      }
    for (const part of parts) this.#readEntities(part);
    this.#readPeople(fields);
    this.#readValues(fields);
    this.#readFlags(this.#terms);
    for (const operator of this.#fieldOperators)
      if (this.#lexicon.uses(FIELDS[operator])) this.#readField(operator, fields);
  }

  #begin(): void {
    const { capacity } = this.#lexicon;
    if (this.#stamps.length < capacity) {
      const grown = new Int32Array(2 * capacity);
      grown.set(this.#stamps);
      this.#stamps = grown;
    }
    if (this.#post === 0x7fffffff) {
      this.#stamps.fill(0);
      this.#post = 0;
    }
    this.#post++;
    this.count = 0;
    this.sequenceEnd = 0;
  }

  #readSequence(text: string): void {
    if (text === '') return;
    const scanner = this.#scanner;
    scanner.read(text);
    const { units, starts, ends, hashes, singles, count } = scanner;
    this.#reserve(count + 1);
    const { sequence, gaps } = this;
    for (let i = 0; i < count; i++) {
      const start = starts[i] as number;
      const end = ends[i] as number;
      const id = this.#lexicon.findUnits(WORDS, hashes[i] as number, units, start, end);
      this.#mark(id);
      const gap = i === 0 ? APART : start - (ends[i - 1] as number);
      gaps[this.sequenceEnd] =
        gap === 0 ? TOUCHING : gap === 1 && units[start - 1] === 0x20 ? ONE_BLANK : APART;
      sequence[this.sequenceEnd++] = id;
      if (i > 0 && singles[i] === 1 && singles[i - 1] === 1) this.#readPair(WORDS, i);
    }
    sequence[this.sequenceEnd] = -2;
    gaps[this.sequenceEnd++] = APART;
  }

  /** Neighbours of a script without spaces are a term together. */
  #readPair(kind: Prefix, i: number): void {
    const { units, starts, ends } = this.#scanner;
    let length = 0;
    for (let token = i - 1; token <= i; token++) {
      const start = starts[token] as number;
      const end = ends[token] as number;
      if (length + end - start > this.#pair.length) {
        this.#readLongPair(kind, i);
        return;
      }
      for (let at = start; at < end; at++) this.#pair[length++] = units[at] as number;
    }
    this.#markUnits(kind, this.#pair, 0, length);
  }

  /** Characters with very many marks. */
  #readLongPair(kind: Prefix, i: number): void {
    const { starts, ends } = this.#scanner;
    const [before, word] = [i - 1, i].map(token =>
      this.#scanner.text(starts[token] as number, ends[token] as number),
    );
    this.#markText(kind, `${before}${word}`);
  }

  #readEntities({ hashtags, cashtags, mentions }: PostFields): void {
    if (this.#lexicon.uses(HASHTAG)) for (const tag of hashtags) this.#markFolded(HASHTAG, tag);
    if (this.#lexicon.uses(CASHTAG))
      for (const symbol of cashtags) this.#markFolded(CASHTAG, symbol);
    if (this.#lexicon.uses(MENTION))
      for (const mention of mentions) this.#markPerson(MENTION, mention);
  }

  #readPeople({ author, replyTo, retweeted }: PostFields): void {
    this.#markPerson(FROM, author);
    if (replyTo !== undefined) this.#markPerson(TO, replyTo);
    if (retweeted === undefined) return;
    this.#markPerson(RETWEETS_OF, retweeted.author);
    this.#markText(RETWEETS_OF_STATUS_ID, retweeted.id);
  }

  #readValues(fields: PostFields): void {
    this.#markText(LANG, fields.lang === '' ? 'und' : fields.lang);
    if (this.#lexicon.uses(IN_REPLY_TO_STATUS_ID) && fields.repliedId !== '')
      this.#markText(IN_REPLY_TO_STATUS_ID, fields.repliedId);
    if (this.#lexicon.uses(PLACE_COUNTRY) && fields.place !== undefined)
      this.#markText(PLACE_COUNTRY, fields.place.countryCode);
    if (this.#lexicon.uses(PROFILE_COUNTRY))
      for (const { countryCode } of fields.author.homes)
        this.#markText(PROFILE_COUNTRY, countryCode);
    if (this.#lexicon.uses(SOURCE)) {
      const { name, link } = fields.source;
      this.#markText(SOURCE, sourceKey(name, this.#dialect));
      this.#markText(SOURCE, sourceKey(link, this.#dialect));
    }
  }

  #readFlags(terms: PostTerms): void {
    if (this.#lexicon.uses(IS))
      for (const value of IS_VALUES) {
        const id = this.#lexicon.find(IS, value);
        if (id !== -1 && terms.is(value)) this.#mark(id);
      }
    if (this.#lexicon.uses(HAS))
      for (const value of HAS_VALUES) {
        const id = this.#lexicon.find(HAS, value);
        if (id !== -1 && terms.has(value)) this.#mark(id);
      }
  }

  #readField(operator: FieldOperator, fields: PostFields): void {
    const kind = FIELDS[operator];
    const scanner = this.#scanner;
    for (const text of fieldTexts(operator, fields)) {
      if (text === '') continue;
      scanner.read(text);
      const { units, starts, ends, singles, count } = scanner;
      for (let i = 0; i < count; i++) {
        this.#markUnits(kind, units, starts[i] as number, ends[i] as number);
        if (i > 0 && singles[i] === 1 && singles[i - 1] === 1) this.#readPair(kind, i);
      }
    }
  }

  #markPerson(kind: Prefix, { handle, id }: Person): void {
    if (!this.#lexicon.uses(kind)) return;
    this.#markText(kind, handle);
    this.#markText(kind, id);
  }

  #markText(kind: Prefix, text: string): void {
    this.#mark(this.#lexicon.find(kind, text));
  }

  #markFolded(kind: Prefix, text: string): void {
    this.#scanner.read(text);
    this.#markUnits(kind, this.#scanner.units, 0, this.#scanner.length);
  }

  #markUnits(kind: Prefix, units: Uint16Array, start: number, end: number): void {
    const hash = hashUnits(kind.hash, units, start, end);
    this.#mark(this.#lexicon.findUnits(kind, hash, units, start, end));
  }

  /** -1 is no term. */
  #mark(term: number): void {
    if (term === -1 || this.#stamps[term] === this.#post) return;
    this.#stamps[term] = this.#post;
    if (this.count === this.present.length) this.present = doubled(this.present);
    this.present[this.count++] = term;
  }

  #reserve(more: number): void {
    const { sequence, gaps } = this;
    if (this.sequenceEnd + more <= sequence.length) return;
    this.sequence = new Int32Array(2 * (this.sequenceEnd + more));
    this.sequence.set(sequence);
    this.gaps = new Uint8Array(this.sequence.length);
    this.gaps.set(gaps);
  }
}

function doubled(list: Int32Array): Int32Array {
  const longer = new Int32Array(2 * list.length);
  longer.set(list);
  return longer;
}

const WORDS = prefix('');
const HASHTAG = prefix('#');
const CASHTAG = prefix('$');
const MENTION = prefix('@');
const FROM = prefix('from:');
const TO = prefix('to:');
const RETWEETS_OF = prefix('retweets_of:');
const RETWEETS_OF_STATUS_ID = prefix('retweets_of_status_id:');
const IN_REPLY_TO_STATUS_ID = prefix('in_reply_to_status_id:');
const LANG = prefix('lang:');
const SOURCE = prefix('source:');
const PLACE_COUNTRY = prefix('place_country:');
const PROFILE_COUNTRY = prefix('profile_country:');
const IS = prefix('is:');
const HAS = prefix('has:');
const FIELDS: { readonly [O in FieldOperator]: Prefix } = {
  bio: prefix('bio:'),
  bio_name: prefix('bio_name:'),
  bio_location: prefix('bio_location:'),
  place: prefix('place:'),
  profile_region: prefix('profile_region:'),
  profile_locality: prefix('profile_locality:'),
  profile_subregion: prefix('profile_subregion:'),
  url_title: prefix('url_title:'),
  url_description: prefix('url_description:'),
};
