/** Longitude first, degrees. */
export type Position = readonly [number, number];

export interface Person {
  /** Digits; empty if the post does not have it. */
  readonly id: string;
  /** Without `@`, in lower case. */
  readonly handle: string;
  /** The handle with its capitals. */
  readonly writtenHandle: string;
}

export interface Link {
  /** The short URL in the text. */
  readonly url: string;
  /** The URL as posted, and the final one after all redirects. */
  readonly expanded: string;
  readonly unwound: string;
  readonly display: string;
  /** Title and description of the linked page. */
  readonly title: string;
  readonly description: string;
}

export interface Medium {
  /** `photo`, `video` or `animated_gif`. */
  readonly type: string;
  /** The URL of the picture, or of a still of the video. */
  readonly url: string;
}

/** A count is `undefined` if the post does not have it. */
export interface AuthorFields extends Person {
  readonly name: string;
  readonly bio: string;
  readonly location: string;
  /** A URL of the profile: its link or its picture. */
  readonly url: string;
  readonly image: string;
  readonly verified: boolean | undefined;
  /** Only the `original` format has it. */
  readonly protected: boolean | undefined;
  /** Epoch milliseconds of whole seconds, the precision of the `original` format. */
  readonly createdAt: number | undefined;
  readonly statuses: number | undefined;
  readonly followers: number | undefined;
  readonly friends: number | undefined;
  readonly listed: number | undefined;
  readonly favorites: number | undefined;
  readonly homes: readonly Home[];
}

/** A location of the author, derived from the profile. */
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
  readonly country: string;
  /** `city`, `admin`, `country`, `neighborhood` or `poi`. */
  readonly type: string;
  /** Corners of its outline; empty if the post has none. */
  readonly corners: readonly Position[];
}

/** The post that a retweet shares. */
export interface SharedFields {
  readonly id: string;
  readonly author: Person;
  /** Epoch milliseconds. */
  readonly postedAt: number | undefined;
  readonly favorites: number | undefined;
  readonly retweets: number | undefined;
  readonly isReply: boolean;
}

/**
 * The fields that rules test and tables show, the same for both formats. A field is empty if the post does
 * not have it or its type is wrong. A retweet has the full text and the entities of the retweeted post, after
 * `RT @handle: ` and the mention of its author, and has no place.
 */
export interface PostFields {
  readonly id: string;
  readonly text: string;
  /** The address of the post, in the form of the `activity_streams` format. */
  readonly link: string;
  /** Without `#`. */
  readonly hashtags: readonly string[];
  /** Without `$`. */
  readonly cashtags: readonly string[];
  readonly mentions: readonly Person[];
  readonly links: readonly Link[];
  readonly media: readonly Medium[];
  readonly author: AuthorFields;
  /** The user that the post replies to. */
  readonly replyTo: Person | undefined;
  /** The id of the post that it replies to; empty if it is not a reply. */
  readonly repliedId: string;
  readonly retweeted: SharedFields | undefined;
  readonly isQuote: boolean;
  /** The id of the quoted post, even if that post is gone. In the `activity_streams` format, set only if the quoted post was delivered. */
  readonly quotedId: string;
  readonly favorites: number | undefined;
  readonly retweets: number | undefined;
  /** Only the `original` format has this and the next two. */
  readonly replies: number | undefined;
  readonly quotes: number | undefined;
  readonly possiblySensitive: boolean | undefined;
  /** Codes of countries; `undefined` if the post is not withheld. Only the `original` format has it. */
  readonly withheldIn: readonly string[] | undefined;
  readonly isNullcast: boolean;
  /** `und` if it is unknown. */
  readonly lang: string;
  readonly place: PlaceFields | undefined;
  readonly position: Position | undefined;
  readonly source: { readonly name: string; readonly link: string };
  readonly quoted: PostFields | undefined;
  /** The full text of the quoted post. */
  readonly quotedText: string;
}
