import type { Activity } from '../../activity/activity.js';
import { fieldsOf, type PostFields } from '../../activity/post-fields.js';
import type { RuleProduct } from '../language/operators.js';
import type { HasValue, IsValue } from '../language/tree.js';
import { type Dialect, dialectOf } from '../match/dialect.js';
import { fold, isSingle, type Tokens, tokenise } from '../match/tokeniser.js';

/** Operators that look for words or phrases in one field of a post. */
export type FieldOperator =
  | 'bio'
  | 'bio_name'
  | 'bio_location'
  | 'place'
  | 'profile_region'
  | 'profile_locality'
  | 'profile_subregion'
  | 'url_title'
  | 'url_description';

/**
 * A post as rules see it, the same for both formats. Nothing is read before it is asked for.
 *
 * `terms` are the strings that an index files a post under. A word stands for itself (`snow`, and two
 * neighbours of a script written without spaces stand together, as `東京`); all else has a prefix:
 * `#tag`, `@handle`, `@id`, `$symbol`, `from:`, `to:`, `retweets_of:` with a handle or an id,
 * `retweets_of_status_id:`, `in_reply_to_status_id:`, `lang:en`, `place_country:US`,
 * `profile_country:US`, `has:links`, `is:reply`, a word of a field as `place:boulder`, and three units
 * in a row of a text that pieces are looked for in, as `contains:now`.
 */
export class PostTerms {
  readonly fields: PostFields;
  readonly dialect: Dialect;
  #parts: readonly PostFields[] | undefined;
  #texts: readonly Tokens[] | undefined;
  #addresses: readonly Tokens[] | undefined;
  #displays: readonly Tokens[] | undefined;
  #terms: ReadonlySet<string> | undefined;
  #fieldTokens: Map<FieldOperator, readonly Tokens[]> | undefined;

  constructor(fields: PostFields, dialect: Dialect) {
    this.fields = fields;
    this.dialect = dialect;
  }

  /** The post, and the one that it quotes where that counts. */
  get parts(): readonly PostFields[] {
    if (this.#parts === undefined) {
      const quoted = this.dialect.readsQuoted ? this.fields.quoted : undefined;
      this.#parts = quoted === undefined ? [this.fields] : [this.fields, quoted];
    }
    return this.#parts;
  }

  get texts(): readonly Tokens[] {
    this.#texts ??= this.parts.map(part => this.#tokens(part.text));
    return this.#texts;
  }

  /** Each link as it was posted and where it leads to. */
  get addresses(): readonly Tokens[] {
    this.#addresses ??= this.#tokensOfAll(
      this.parts.flatMap(part => part.links.flatMap(link => [link.expanded, link.unwound])),
    );
    return this.#addresses;
  }

  /** Each link as it is shown. */
  get displays(): readonly Tokens[] {
    this.#displays ??= this.#tokensOfAll(
      this.parts.flatMap(part => part.links.map(link => link.display)),
    );
    return this.#displays;
  }

  field(operator: FieldOperator): readonly Tokens[] {
    this.#fieldTokens ??= new Map();
    let tokens = this.#fieldTokens.get(operator);
    if (tokens === undefined) {
      tokens = this.#tokensOfAll(fieldTexts(operator, this.fields));
      this.#fieldTokens.set(operator, tokens);
    }
    return tokens;
  }

  is(value: IsValue): boolean {
    return IS[value](this);
  }

  has(value: HasValue): boolean {
    return HAS[value](this);
  }

  get terms(): ReadonlySet<string> {
    this.#terms ??= new Set(this.#allTerms());
    return this.#terms;
  }

  *#allTerms(): Generator<string> {
    for (const tokens of [...this.texts, ...this.addresses, ...this.displays])
      yield* termsOfWords(tokens.words);
    yield* this.#entityTerms();
    yield* this.#personTerms();
    const { lang, place, author, source, repliedId, retweeted } = this.fields;
    if (repliedId !== '') yield `in_reply_to_status_id:${repliedId}`;
    if (retweeted !== undefined) yield `retweets_of_status_id:${retweeted.id}`;
    yield `lang:${lang}`;
    if (place !== undefined) yield `place_country:${place.countryCode}`;
    for (const { countryCode } of author.homes) yield `profile_country:${countryCode}`;
    yield `source:${sourceKey(source.name, this.dialect)}`;
    yield `source:${sourceKey(source.link, this.dialect)}`;
    if (indexesPieces(this.dialect)) yield* this.#pieceTerms();
    for (const operator of indexedFields(this.dialect))
      for (const { words } of this.field(operator))
        for (const term of termsOfWords(words)) yield `${operator}:${term}`;
    for (const value of IS_VALUES) if (this.is(value)) yield `is:${value}`;
    for (const value of HAS_VALUES) if (this.has(value)) yield `has:${value}`;
  }

  *#pieceTerms(): Generator<string> {
    for (const piece of piecesOf(this.texts[0]?.folded ?? '')) yield `contains:${piece}`;
    for (const { folded } of this.addresses)
      for (const piece of piecesOf(folded)) yield `url_contains:${piece}`;
  }

  *#entityTerms(): Generator<string> {
    for (const { hashtags, cashtags, mentions } of this.parts) {
      for (const tag of hashtags) yield `#${fold(tag, this.dialect.accents)}`;
      for (const symbol of cashtags) yield `$${fold(symbol, this.dialect.accents)}`;
      for (const { handle, id } of mentions) yield* [`@${handle}`, `@${id}`];
    }
  }

  *#personTerms(): Generator<string> {
    const { author, replyTo, retweeted } = this.fields;
    yield* [`from:${author.handle}`, `from:${author.id}`];
    if (replyTo !== undefined) yield* [`to:${replyTo.handle}`, `to:${replyTo.id}`];
    if (retweeted !== undefined)
      yield* [`retweets_of:${retweeted.author.handle}`, `retweets_of:${retweeted.author.id}`];
  }

  #tokens(text: string): Tokens {
    return tokenise(text, this.dialect.accents);
  }

  #tokensOfAll(texts: readonly string[]): readonly Tokens[] {
    return texts.filter(text => text !== '').map(text => this.#tokens(text));
  }
}

/** Operators that look for a piece of a text, wherever it stands. */
export type PieceOperator = 'contains' | 'url_contains';

/** Search has no operators for pieces. */
export function indexesPieces({ readsQuoted }: Dialect): boolean {
  return readsQuoted;
}

/** Every three units in a row. */
export function* piecesOf(folded: string): Generator<string> {
  for (let at = 0; at + PIECE <= folded.length; at++) yield folded.slice(at, at + PIECE);
}

export const PIECE = 3;

/** The post as the rules of a product see it. */
export function postTerms(activity: Activity, product: RuleProduct): PostTerms {
  return new PostTerms(fieldsOf(activity), dialectOf(product));
}

/** The words themselves, and neighbours that are written without a space between them. */
export function* termsOfWords(words: readonly string[]): Generator<string> {
  let before = '';
  for (const word of words) {
    yield word;
    const single = isSingle(word);
    if (single && before !== '') yield before + word;
    before = single ? word : '';
  }
}

/** Applications are compared by their whole name or link, the latter without protocol and last slash. */
export function sourceKey(source: string, { accents }: Dialect): string {
  return fold(source, accents)
    .trim()
    .replace(/^https?:\/\//, '')
    .replace(/\/$/, '');
}

/** Fields whose words are terms. Those that search has no operators for are left out there. */
export function indexedFields({ readsQuoted }: Dialect): readonly FieldOperator[] {
  return readsQuoted ? ALL_FIELDS : SEARCH_FIELDS;
}

const SEARCH_FIELDS: readonly FieldOperator[] = ['place', 'profile_region', 'profile_locality'];

const FIELD_TEXTS: { [O in FieldOperator]: (post: PostFields) => readonly string[] } = {
  bio: post => [post.author.bio],
  bio_name: post => [post.author.name],
  bio_location: post => [post.author.location],
  place: ({ place }) => (place === undefined ? [] : [place.name, place.fullName, place.id]),
  profile_region: post => post.author.homes.map(home => home.region),
  profile_locality: post => post.author.homes.map(home => home.locality),
  profile_subregion: post => post.author.homes.map(home => home.subregion),
  url_title: post => post.links.map(link => link.title),
  url_description: post => post.links.map(link => link.description),
};

/** What an operator on a field reads. */
export function fieldTexts(operator: FieldOperator, post: PostFields): readonly string[] {
  return FIELD_TEXTS[operator](post);
}

const ALL_FIELDS = Object.keys(FIELD_TEXTS) as FieldOperator[];

const IS: { [V in IsValue]: (post: PostTerms) => boolean } = {
  nullcast: ({ fields }) => fields.isNullcast,
  quote: ({ parts }) => parts.some(part => part.isQuote),
  reply: ({ parts }) => parts.some(part => part.replyTo !== undefined),
  retweet: ({ fields }) => fields.retweeted !== undefined,
  verified: ({ fields }) => fields.author.verified,
};

const HAS: { [V in HasValue]: (post: PostTerms) => boolean } = {
  geo: ({ fields }) => fields.place !== undefined || fields.position !== undefined,
  hashtags: ({ parts }) => parts.some(part => part.hashtags.length > 0),
  images: ({ fields }) => fields.mediaTypes.includes('photo'),
  links: ({ parts }) => parts.some(part => part.links.length > 0),
  media: ({ parts }) => parts.some(part => part.mediaTypes.length > 0),
  mentions: ({ parts }) => parts.some(part => part.mentions.length > 0),
  profile_geo: ({ fields }) => fields.author.homes.length > 0,
  symbols: ({ parts }) => parts.some(part => part.cashtags.length > 0),
  videos: ({ fields }) => fields.mediaTypes.includes('video'),
};

export const IS_VALUES: readonly IsValue[] = Object.keys(IS) as IsValue[];
export const HAS_VALUES: readonly HasValue[] = Object.keys(HAS) as HasValue[];
