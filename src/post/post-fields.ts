/** Longitude, then latitude, in degrees. */
export type Position = readonly [number, number];

export interface Person {
  /** The id of the user, as digits; empty if the post does not have it. */
  readonly id: string;
  /** The handle, without `@`, in lower case. */
  readonly handle: string;
  /** The handle in its original case. */
  readonly writtenHandle: string;
}

export interface Link {
  /** The short URL, as in the text. */
  readonly url: string;
  /** The URL as posted, and the final URL after all redirects. */
  readonly expanded: string;
  readonly unwound: string;
  readonly display: string;
  /** Title and description of the linked page. */
  readonly title: string;
  readonly description: string;
}

export interface Medium {
  /** The kind of media: `photo`, `video` or `animated_gif`. */
  readonly type: string;
  /** The URL of the picture, or of a still of the video. */
  readonly url: string;
}

/** The fields of an author. A count is `undefined` if the post does not have it. */
export interface AuthorFields extends Person {
  readonly name: string;
  readonly bio: string;
  readonly location: string;
  /** A URL in the profile: a link or the picture. */
  readonly url: string;
  readonly image: string;
  readonly verified: boolean | undefined;
  /** Whether the account is protected. Only in the `original` format. */
  readonly protected: boolean | undefined;
  /**
   * The time at which the account was created, in epoch milliseconds, rounded down to whole seconds, the
   * precision of the `original` format.
   */
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
  /** The type of the location: `city`, `admin`, `country`, `neighborhood` or `poi`. */
  readonly type: string;
  /** The corners of the outline; empty if the post has none. */
  readonly corners: readonly Position[];
}

/** The post that a retweet shares. */
export interface SharedFields {
  readonly id: string;
  readonly author: Person;
  /** The time of the post in epoch milliseconds. */
  readonly postedAt: number | undefined;
  readonly favorites: number | undefined;
  readonly retweets: number | undefined;
  readonly isReply: boolean;
}

/**
 * The fields that rules test and columns show, the same for both formats. A field is empty if the post does
 * not have it, or if it has the wrong type. A retweet has the full text and the entities of the retweeted
 * post, after `RT @handle: ` and the mention of its author, and has no place.
 */
export interface PostFields {
  readonly id: string;
  readonly text: string;
  /** The address of the post, in the notation of the `activity_streams` format. */
  readonly link: string;
  /** The hashtags, without `#`. */
  readonly hashtags: readonly string[];
  /** The cashtags, without `$`. */
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
  /** The number of replies. Only the `original` format has this count and the next two. */
  readonly replies: number | undefined;
  readonly quotes: number | undefined;
  readonly possiblySensitive: boolean | undefined;
  /**
   * The codes of the countries in which the post is withheld; `undefined` if there are none. Only in the
   * `original` format.
   */
  readonly withheldIn: readonly string[] | undefined;
  readonly isNullcast: boolean;
  /** The language; `und` if it is unknown. */
  readonly lang: string;
  readonly place: PlaceFields | undefined;
  readonly position: Position | undefined;
  readonly source: { readonly name: string; readonly link: string };
  readonly quoted: PostFields | undefined;
  /** The full text of the quoted post. */
  readonly quotedText: string;
}
