import type {
  EditControls,
  EditHistory,
  OriginalEntities,
  OriginalExtendedEntities,
  OriginalIndices,
  OriginalPoint,
  OriginalPolygon,
  PostMatchingRule,
} from './original-post.js';

/**
 * A post in the `activity_streams` format, as `Activity.post` returns it. Ids are strings as the service
 * sends them (`tag:search.twitter.com,2005:1050118621198921728`). The service sends the ids of entities as
 * numbers; here they are strings of digits. The object also keeps fields that this type does not list.
 */
export interface ActivityStreamsPost {
  /** The id: `tag:search.twitter.com,2005:` followed by digits. */
  readonly id: string;
  readonly objectType: 'activity';
  readonly verb: 'post' | 'share' | (string & {});
  /** When the post was created, such as `2017-05-24T20:35:57.000Z`. */
  readonly postedTime: string;
  /** The application that created the post. */
  readonly generator: { readonly displayName: string; readonly link: string };
  readonly provider: StreamsProvider;
  readonly link: string;
  /** The text. If there is a `long_object`, this text is truncated, and `long_object` has the full text. */
  readonly body: string;
  readonly display_text_range?: OriginalIndices | undefined;
  readonly long_object?: StreamsLongText | undefined;
  readonly actor: StreamsActor;
  /** The post itself as a note. In a retweet, the whole retweeted activity. */
  readonly object: StreamsNote | ActivityStreamsPost;
  /** The post to which this post replies. Only a link is given, which ends in the id of that post. */
  readonly inReplyTo?: { readonly objectType?: string; readonly link: string } | undefined;
  readonly location?: StreamsPlace | undefined;
  /** The location of the post. The latitude comes first. */
  readonly geo?: OriginalPoint | undefined;
  readonly twitter_entities: StreamsEntities;
  readonly twitter_extended_entities?: OriginalExtendedEntities | undefined;
  /**
   * The language as a BCP 47 code, or `und` if none was recognised. Absent before about 2013; see
   * `gnip.language`.
   */
  readonly twitter_lang?: string | undefined;
  readonly twitter_filter_level?: 'none' | 'low' | 'medium' | (string & {}) | undefined;
  readonly favoritesCount?: number | undefined;
  readonly retweetCount?: number | undefined;
  readonly twitter_quoted_status?: ActivityStreamsPost | undefined;
  /**
   * The countries in which the post is withheld, as two-letter codes. `XX` means everywhere. `XY` means
   * everywhere, because of a copyright complaint.
   */
  readonly withheld_in_countries?: readonly string[] | undefined;
  /** Enrichments, and the rules that the post matched. */
  readonly gnip?: StreamsEnrichments | undefined;
  /** Present in posts since 29 September 2022. */
  readonly edit_history?: EditHistory | undefined;
  readonly edit_controls?: EditControls | undefined;
  readonly editable?: boolean | undefined;
}

export interface StreamsProvider {
  readonly objectType: 'service';
  readonly displayName: string;
  readonly link: string;
}

export interface StreamsLongText {
  readonly body: string;
  readonly display_text_range: OriginalIndices;
  readonly twitter_entities: StreamsEntities;
  readonly twitter_extended_entities?: OriginalExtendedEntities | undefined;
}

/**
 * The entities in the text. Unlike entities in the `original` format, they contain no polls, and `urls` have
 * no `unwound` (see `gnip.urls`). Old posts have no `symbols`.
 */
export type StreamsEntities = Omit<OriginalEntities, 'polls' | 'symbols'> &
  Partial<Pick<OriginalEntities, 'symbols'>>;

export interface StreamsActor {
  readonly objectType: 'person';
  /** The id: `id:twitter.com:` followed by digits. */
  readonly id: string;
  readonly link: string;
  /** The display name. */
  readonly displayName: string;
  /** The handle, without `@`. */
  readonly preferredUsername: string;
  /** When the account was created, to the millisecond. */
  readonly postedTime: string;
  readonly image: string;
  /** The description in the profile. */
  readonly summary: string | null;
  readonly friendsCount: number;
  readonly followersCount: number;
  readonly listedCount: number;
  readonly statusesCount: number;
  readonly favoritesCount?: number | undefined;
  readonly verified?: boolean | undefined;
  readonly twitterTimeZone?: string | null | undefined;
  /** The offset from UTC in seconds, as a string. */
  readonly utcOffset?: string | null | undefined;
  readonly languages?: readonly string[] | undefined;
  readonly links?: readonly { readonly href: string | null; readonly rel: 'me' }[] | undefined;
  readonly location?:
    | { readonly objectType: 'place'; readonly displayName: string | null }
    | undefined;
}

export interface StreamsNote {
  readonly objectType: 'note';
  /** The id: `object:search.twitter.com,2005:` followed by digits. */
  readonly id: string;
  readonly summary: string;
  readonly link: string;
  readonly postedTime: string;
}

export interface StreamsPlace {
  readonly objectType: 'place';
  readonly displayName: string;
  readonly name?: string | undefined;
  /**
   * The name of the country, in spite of this field's name. The code of the country is
   * `twitter_country_code`.
   */
  readonly country_code?: string | undefined;
  /** The two-letter code of the country. */
  readonly twitter_country_code?: string | undefined;
  readonly twitter_place_type?: string | undefined;
  readonly link?: string | undefined;
  /** The outline of the place. In each pair, the longitude comes first. */
  readonly geo?: OriginalPolygon | null | undefined;
}

export interface StreamsEnrichments {
  readonly matching_rules?: readonly PostMatchingRule[] | undefined;
  readonly urls?: readonly StreamsUrl[] | undefined;
  readonly language?: { readonly value: string } | undefined;
  readonly klout_score?: number | undefined;
  readonly klout_profile?: StreamsInfluence | undefined;
  readonly profileLocations?: readonly StreamsProfileLocation[] | undefined;
}

export interface StreamsUrl {
  readonly url: string;
  readonly expanded_url?: string | null | undefined;
  /** The HTTP status of the linked page. */
  readonly expanded_status?: number | null | undefined;
  readonly expanded_url_title?: string | null | undefined;
  readonly expanded_url_description?: string | null | undefined;
}

export interface StreamsInfluence {
  readonly klout_user_id: string;
  readonly link: string;
  readonly topics: readonly {
    readonly id?: string | undefined;
    /** Used instead of `id` before 2014. */
    readonly klout_topic_id?: string | undefined;
    readonly displayName: string;
    readonly link: string;
    readonly score?: number | undefined;
    readonly topic_type?: 'influence' | 'interest' | undefined;
  }[];
}

export interface StreamsProfileLocation {
  readonly objectType: 'place';
  readonly displayName: string;
  readonly address: {
    readonly country?: string | undefined;
    readonly countryCode?: string | undefined;
    readonly locality?: string | undefined;
    readonly region?: string | undefined;
    readonly subRegion?: string | undefined;
  };
  /** The position. The longitude comes first. */
  readonly geo?:
    | { readonly type: 'point'; readonly coordinates: readonly [number, number] }
    | undefined;
}
