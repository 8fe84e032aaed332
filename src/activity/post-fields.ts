/** Longitude first, degrees. */
export type Position = readonly [number, number];

export interface Person {
  /** Digits; empty where the post does not say. */
  readonly id: string;
  /** Without `@`, in lower case. */
  readonly handle: string;
}

export interface Link {
  /** The address as it was posted, and the one that it leads to in the end. */
  readonly expanded: string;
  readonly unwound: string;
  readonly display: string;
  /** Of the page that it leads to. */
  readonly title: string;
  readonly description: string;
}

export interface AuthorFields extends Person {
  readonly name: string;
  readonly bio: string;
  readonly location: string;
  readonly verified: boolean;
  readonly statuses: number;
  readonly followers: number;
  readonly friends: number;
  readonly listed: number;
  readonly homes: readonly Home[];
}

/** Where the author's profile says that the author lives. */
export interface Home {
  readonly countryCode: string;
  readonly region: string;
  readonly subregion: string;
  readonly locality: string;
  readonly position: Position | undefined;
}

export interface PlaceFields {
  readonly id: string;
  readonly name: string;
  readonly fullName: string;
  readonly countryCode: string;
  /** Corners of its outline; empty where the post has none. */
  readonly corners: readonly Position[];
}

/**
 * What rules look at, the same for both formats. Whatever a post lacks, or has in a form that no
 * post should have, reads as empty. Of a retweet, text and entities are those of the retweeted post
 * in full, behind the `RT @handle: ` and its mention; a retweet has no place.
 */
export interface PostFields {
  readonly id: string;
  readonly text: string;
  /** Without `#`. */
  readonly hashtags: readonly string[];
  /** Without `$`. */
  readonly cashtags: readonly string[];
  readonly mentions: readonly Person[];
  readonly links: readonly Link[];
  readonly mediaTypes: readonly string[];
  readonly author: AuthorFields;
  /** Whom the post answers. */
  readonly replyTo: Person | undefined;
  /** The id of the post that it answers. */
  readonly repliedId: string;
  readonly retweeted: { readonly id: string; readonly author: Person } | undefined;
  readonly isQuote: boolean;
  readonly isNullcast: boolean;
  /** `und` where it is not known. */
  readonly lang: string;
  readonly place: PlaceFields | undefined;
  readonly position: Position | undefined;
  readonly source: { readonly name: string; readonly link: string };
  readonly quoted: PostFields | undefined;
}
