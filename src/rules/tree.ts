/** A range of a rule's text, in UTF-16 offsets from 0. `end` is exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * A rule as a typed tree. Parentheses are not nodes: `(a b) c` is an `and` within an `and`, and `((a))` is
 * the same as `a`. An `and` or `or` has at least two nodes.
 */
export type RuleNode = Tree<Clause>;

/**
 * A tree whose leaves may be of any type. The trees of the parser also have leaves for clauses that it could
 * not parse.
 */
export type Tree<Leaf> = Leaf | And<Leaf> | Or<Leaf> | Not<Leaf>;

/** A node that matches if all of its parts match. */
export interface And<Leaf = Clause> extends Span {
  readonly kind: 'and';
  readonly nodes: readonly Tree<Leaf>[];
}

/** A node that matches if at least one of its parts matches. */
export interface Or<Leaf = Clause> extends Span {
  readonly kind: 'or';
  readonly nodes: readonly Tree<Leaf>[];
}

/** A node that matches if its part does not match. */
export interface Not<Leaf = Clause> extends Span {
  readonly kind: 'not';
  readonly node: Tree<Leaf>;
}

/** One condition on a post. */
export type Clause = TextClause | Proximity | OperatorClause;

/**
 * A clause that matches text of a post:
 * - `keyword`: one unquoted word or emoji;
 * - `phrase`: a quoted phrase, with `text` without quotes and with `\"` unescaped;
 * - `hashtag`, `mention` (a handle or a user id) and `cashtag`, with `text` without the prefix.
 *
 * `text` keeps its case, but matching ignores case.
 */
export interface TextClause extends Span {
  readonly kind: 'keyword' | 'phrase' | 'hashtag' | 'mention' | 'cashtag';
  readonly text: string;
}

/**
 * A clause such as `"two words"~3`. It matches if the words of `text` are at most `distance` tokens apart.
 */
export interface Proximity extends Span {
  readonly kind: 'proximity';
  readonly text: string;
  readonly distance: number;
}

/**
 * A clause of the form `name:value`. `name` is the current name of the operator, even if the rule uses an
 * alias or a deprecated name.
 */
export type OperatorClause = {
  [Name in OperatorName]: Span & {
    readonly kind: 'operator';
    readonly name: Name;
    readonly value: OperatorValues[Name];
  };
}[OperatorName];

/** The name of an operator, without its colon. */
export type OperatorName = keyof OperatorValues;

/** The type of each operator's value. Switching on `name` narrows `value`. */
export interface OperatorValues {
  /** Any string, word or phrase. Its case is kept. */
  contains: string;
  url: string;
  url_contains: string;
  url_title: string;
  url_description: string;
  bio: string;
  bio_name: string;
  bio_location: string;
  source: string;
  /** The name or id of a place. */
  place: string;
  profile_region: string;
  profile_locality: string;
  profile_subregion: string;
  /** A handle without `@`, or a user id. */
  from: string;
  to: string;
  retweets_of: string;
  /** The id of a post, as digits. */
  retweets_of_status_id: string;
  in_reply_to_status_id: string;
  statuses_count: CountRange;
  followers_count: CountRange;
  friends_count: CountRange;
  listed_count: CountRange;
  /** A language code in lower case. */
  lang: string;
  /** A country code of two letters, in upper case. */
  place_country: string;
  profile_country: string;
  point_radius: PointRadius;
  profile_point_radius: PointRadius;
  bounding_box: BoundingBox;
  profile_bounding_box: BoundingBox;
  is: IsValue;
  has: HasValue;
  /** A percentage, an integer from 1 to 100. */
  sample: number;
}

/** The kinds of posts that `is:` selects. */
export type IsValue = 'nullcast' | 'quote' | 'reply' | 'retweet' | 'verified';

/** The parts of a post that `has:` requires. */
export type HasValue =
  | 'geo'
  | 'hashtags'
  | 'images'
  | 'links'
  | 'media'
  | 'mentions'
  | 'profile_geo'
  | 'symbols'
  | 'videos';

/** A range of counts. Both ends are inclusive. Without `max`, the range has no upper end. */
export interface CountRange {
  readonly min: number;
  readonly max?: number | undefined;
}

/** The circle of a `point_radius:`. Coordinates are in degrees, and the radius is in `unit`. */
export interface PointRadius {
  readonly longitude: number;
  readonly latitude: number;
  readonly radius: number;
  readonly unit: 'mi' | 'km';
}

/** The area of a `bounding_box:`, given by its edges in degrees. */
export interface BoundingBox {
  readonly west: number;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}
