/** The longitude, then the latitude, in degrees. */
export type Position = readonly [number, number];

export interface Person {
  /** The id of the user, as digits. Empty if the post does not have it. */
  readonly id: string;
  /** The handle, without `@`, in lower case. */
  readonly handle: string;
  /** The handle, without `@`, in its original case. */
  readonly writtenHandle: string;
}

export interface Link {
  /** The short URL, as it appears in the text. */
  readonly url: string;
  /** The URL that the author posted. `unwound` is the final URL after all redirects. */
  readonly expanded: string;
  readonly unwound: string;
  readonly display: string;
  readonly title: string;
  readonly description: string;
}

export interface Medium {
  /** The kind of media: `photo`, `video` or `animated_gif`. */
  readonly type: string;
  /** The URL of the picture, or of a still image of the video. */
  readonly url: string;
}

/** A count is `undefined` if the post does not have it. */
export interface AuthorFields extends Person {
  readonly name: string;
  readonly bio: string;
  readonly location: string;
  /** The link in the profile. `image` is the URL of the profile picture. */
  readonly url: string;
  readonly image: string;
  readonly verified: boolean | undefined;
  /** Whether the account is protected. Only in the `original` format. */
  readonly protected: boolean | undefined;
  /**
   * When the account was created, in epoch milliseconds. Rounded down to whole seconds, because the
   * `original` format is no more precise.
   */
  readonly createdAt: number | undefined;
  readonly statuses: number | undefined;
  readonly followers: number | undefined;
  readonly friends: number | undefined;
  readonly listed: number | undefined;
  readonly favorites: number | undefined;
  readonly homes: readonly Home[];
}

/** A location of the author that the service has derived from the profile. */
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
  /** The type of the place: `city`, `admin`, `country`, `neighborhood` or `poi`. */
  readonly type: string;
  /** The corners of the outline. Empty if the post has no outline. */
  readonly corners: readonly Position[];
}

export interface SharedFields {
  readonly id: string;
  readonly author: Person;
  /** When the post was created, in epoch milliseconds. */
  readonly postedAt: number | undefined;
  readonly favorites: number | undefined;
  readonly retweets: number | undefined;
  readonly isReply: boolean;
}

/**
 * The fields that rules test and columns show. They are the same for both formats. A field is empty if the
 * post does not have it, or if it has an unexpected type. A retweet has the full text and the entities of the
 * retweeted post. Its text begins with `RT @handle: `, its mentions begin with that author, and it has no
 * place.
 */
export interface PostFields {
  readonly id: string;
  readonly text: string;
  /** The URL of the post, as the `activity_streams` format writes it. */
  readonly link: string;
  /** The hashtags, without `#`. */
  readonly hashtags: readonly string[];
  /** The cashtags, without `$`. */
  readonly cashtags: readonly string[];
  readonly mentions: readonly Person[];
  readonly links: readonly Link[];
  readonly media: readonly Medium[];
  readonly author: AuthorFields;
  readonly replyTo: Person | undefined;
  /** The id of the post to which this post replies. Empty if it is not a reply. */
  readonly repliedId: string;
  readonly retweeted: SharedFields | undefined;
  readonly isQuote: boolean;
  /**
   * The id of the quoted post, even if that post no longer exists. In the `activity_streams` format, set only
   * if the quoted post was delivered with this post.
   */
  readonly quotedId: string;
  readonly favorites: number | undefined;
  readonly retweets: number | undefined;
  /** The number of replies. Only the `original` format has `replies`, `quotes` and `possiblySensitive`. */
  readonly replies: number | undefined;
  readonly quotes: number | undefined;
  readonly possiblySensitive: boolean | undefined;
  /** The codes of the countries in which the post is withheld. `undefined` if there are none. */
  readonly withheldIn: readonly string[] | undefined;
  readonly isNullcast: boolean;
  /** The language code. It is `und` if the language is unknown. */
  readonly lang: string;
  readonly place: PlaceFields | undefined;
  readonly position: Position | undefined;
  readonly source: { readonly name: string; readonly link: string };
  readonly quoted: PostFields | undefined;
  readonly quotedText: string;
}
