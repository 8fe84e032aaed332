/**
 * A post in the `original` format, as `Activity.post` returns it. Every id is a string of digits, even if the
 * service sends a number. A JavaScript number cannot hold all digits of a 64-bit id. The object also keeps
 * fields that this type does not list.
 */
export interface OriginalPost {
  /** When the post was created, such as `Wed Oct 10 20:19:24 +0000 2018`. */
  readonly created_at: string;
  readonly id: string;
  readonly id_str: string;
  /**
   * The text. If `truncated` is true, it has at most 140 characters, and `extended_tweet.full_text` has the
   * full text.
   */
  readonly text: string;
  /** Used instead of `text` in documents that have the full text at the top level. */
  readonly full_text?: string | undefined;
  /**
   * The range of the text that is displayed, in UTF-16 code units. Leading mentions and trailing links are
   * outside of it.
   */
  readonly display_text_range?: OriginalIndices | undefined;
  /**
   * The application that created the post, as HTML: `<a href="..." rel="nofollow">name of the
   * application</a>`.
   */
  readonly source: string;
  readonly truncated: boolean;
  readonly extended_tweet?: OriginalExtendedText | undefined;
  readonly in_reply_to_status_id: string | null;
  readonly in_reply_to_status_id_str: string | null;
  readonly in_reply_to_user_id: string | null;
  readonly in_reply_to_user_id_str: string | null;
  readonly in_reply_to_screen_name: string | null;
  readonly user: OriginalUser;
  /** The location. The latitude comes first. Superseded by `coordinates`. */
  readonly geo: OriginalPoint | null;
  /** The location. The longitude comes first. */
  readonly coordinates: OriginalPoint | null;
  readonly place: OriginalPlace | null;
  readonly contributors: null;
  readonly is_quote_status?: boolean | undefined;
  readonly quoted_status_id?: string | undefined;
  readonly quoted_status_id_str?: string | undefined;
  readonly quoted_status_permalink?: OriginalPermalink | undefined;
  readonly quoted_status?: OriginalPost | undefined;
  readonly retweeted_status?: OriginalPost | undefined;
  readonly quote_count?: number | undefined;
  readonly reply_count?: number | undefined;
  readonly retweet_count: number;
  readonly favorite_count: number;
  readonly entities: OriginalEntities;
  /** All media of the post. `entities.media` has only the first. */
  readonly extended_entities?: OriginalExtendedEntities | undefined;
  readonly favorited: boolean;
  readonly retweeted: boolean;
  /** Present only if the post contains a link. */
  readonly possibly_sensitive?: boolean | undefined;
  readonly filter_level?: 'none' | 'low' | 'medium' | (string & {}) | undefined;
  /** The language as a BCP 47 code, or `und` if none was recognised. */
  readonly lang?: string | undefined;
  /** When the post was created, in epoch milliseconds, as digits. Only in streams. */
  readonly timestamp_ms?: string | undefined;
  readonly scopes?: { readonly followers?: boolean; readonly place_ids?: readonly string[] };
  readonly withheld_copyright?: boolean | undefined;
  /**
   * The countries in which the post is withheld, as two-letter codes. `XX` means everywhere. `XY` means
   * everywhere, because of a copyright complaint.
   */
  readonly withheld_in_countries?: readonly string[] | undefined;
  readonly withheld_scope?: 'status' | 'user' | undefined;
  /** Present in posts since 29 September 2022. */
  readonly edit_history?: EditHistory | undefined;
  readonly edit_controls?: EditControls | undefined;
  readonly editable?: boolean | undefined;
  /** The rules that the post matched. */
  readonly matching_rules?: readonly PostMatchingRule[] | undefined;
}

/**
 * The edit history of a post. It has the same form in both formats. Only posts since 29 September 2022 have
 * one. Every edit creates a post with a new id.
 */
export interface EditHistory {
  readonly initial_tweet_id: string;
  /** The ids of all versions, in ascending order. There is at least one. */
  readonly edit_tweet_ids: readonly string[];
}

export interface EditControls {
  /** Until when the post can be edited, in epoch milliseconds. This is 30 minutes after the first version. */
  readonly editable_until_ms: number;
  /** How many more times the post can be edited, at most 5. */
  readonly edits_remaining: number;
}

/** An entry of `matching_rules`. It has the same form in both formats. In old posts, it has no id. */
export interface PostMatchingRule {
  readonly tag: string | null;
  readonly id?: string | undefined;
  readonly id_str?: string | undefined;
  /** The text of the rule. Only in posts from before rules had ids. */
  readonly value?: string | undefined;
}

export interface OriginalExtendedText {
  readonly full_text: string;
  readonly display_text_range: OriginalIndices;
  readonly entities: OriginalEntities;
  readonly extended_entities?: OriginalExtendedEntities | undefined;
}

/** The start (inclusive) and the end (exclusive) of a part of the text. */
export type OriginalIndices = readonly [number, number];

export interface OriginalPoint {
  readonly type: 'Point';
  readonly coordinates: readonly [number, number];
}

export interface OriginalPermalink {
  readonly url: string;
  readonly expanded: string;
  readonly display: string;
}

export interface OriginalPlace {
  readonly id: string;
  readonly url: string;
  readonly place_type: 'country' | 'admin' | 'city' | 'neighborhood' | 'poi' | (string & {});
  readonly name: string;
  readonly full_name: string;
  /** The two-letter code of the country. */
  readonly country_code: string;
  readonly country: string;
  readonly bounding_box: OriginalPolygon | null;
  readonly attributes?: Readonly<Record<string, unknown>> | undefined;
}

export interface OriginalPolygon {
  readonly type: 'Polygon';
  /**
   * Rings of four corners. In each corner, the longitude comes first. The first corner is not repeated at the
   * end.
   */
  readonly coordinates: readonly (readonly (readonly [number, number])[])[];
}

export interface OriginalUser {
  readonly id: string;
  readonly id_str: string;
  readonly name: string;
  /** The handle, without `@`. */
  readonly screen_name: string;
  readonly location: string | null;
  readonly url: string | null;
  readonly description: string | null;
  readonly entities?: OriginalUserEntities | undefined;
  /** Enrichments that the service has derived from the profile. */
  readonly derived?: OriginalDerived | undefined;
  readonly protected: boolean;
  readonly verified: boolean;
  readonly followers_count: number;
  readonly friends_count: number;
  readonly listed_count: number;
  readonly favourites_count: number;
  readonly statuses_count: number;
  readonly created_at: string;
  /** The offset from UTC in seconds. */
  readonly utc_offset: number | null;
  readonly time_zone: string | null;
  readonly geo_enabled: boolean | null;
  readonly lang: string | null;
  readonly contributors_enabled: boolean | null;
  readonly is_translator: boolean | null;
  readonly is_translation_enabled?: boolean | null | undefined;
  readonly translator_type?: string | null | undefined;
  readonly profile_background_color: string | null;
  readonly profile_background_image_url: string | null;
  readonly profile_background_image_url_https: string | null;
  readonly profile_background_tile: boolean | null;
  readonly profile_link_color: string | null;
  readonly profile_sidebar_border_color: string | null;
  readonly profile_sidebar_fill_color: string | null;
  readonly profile_text_color: string | null;
  readonly profile_use_background_image: boolean | null;
  readonly profile_image_url: string | null;
  readonly profile_image_url_https: string;
  readonly profile_banner_url?: string | null | undefined;
  readonly default_profile: boolean;
  readonly default_profile_image: boolean;
  readonly following: boolean | null;
  readonly follow_request_sent: boolean | null;
  readonly notifications: boolean | null;
  readonly withheld_in_countries?: readonly string[] | undefined;
  readonly withheld_scope?: 'user' | undefined;
  /** The names of the profile fields that have changed. Only in historical jobs. */
  readonly updated?: readonly string[] | undefined;
}

export interface OriginalUserEntities {
  readonly url?: { readonly urls: readonly OriginalUrl[] } | undefined;
  readonly description?: { readonly urls: readonly OriginalUrl[] } | undefined;
}

export interface OriginalDerived {
  readonly locations?: readonly OriginalProfileLocation[] | undefined;
  readonly klout?: OriginalInfluence | undefined;
}

export interface OriginalProfileLocation {
  readonly country?: string | undefined;
  readonly country_code?: string | undefined;
  readonly region?: string | undefined;
  readonly sub_region?: string | undefined;
  readonly locality?: string | undefined;
  readonly full_name?: string | undefined;
  /** The position. The longitude comes first. */
  readonly geo?:
    | { readonly type: 'point'; readonly coordinates: readonly [number, number] }
    | undefined;
}

export interface OriginalInfluence {
  readonly score?: number | undefined;
  readonly user_id?: string | undefined;
  readonly profile_url?: string | undefined;
  readonly influence_topics?: readonly OriginalTopic[] | undefined;
  readonly interest_topics?: readonly OriginalTopic[] | undefined;
}

export interface OriginalTopic {
  readonly score: number;
  readonly id: string;
  readonly url: string;
  readonly name: string;
}

export interface OriginalEntities {
  readonly hashtags: readonly OriginalTag[];
  /** The cashtags. */
  readonly symbols: readonly OriginalTag[];
  readonly urls: readonly OriginalUrl[];
  readonly user_mentions: readonly OriginalMention[];
  readonly media?: readonly OriginalMedia[] | undefined;
  readonly polls?: readonly OriginalPoll[] | undefined;
}

export interface OriginalExtendedEntities {
  readonly media: readonly OriginalMedia[];
}

export interface OriginalTag {
  /** The tag, without `#` or `$`. */
  readonly text: string;
  readonly indices: OriginalIndices;
}

export interface OriginalUrl {
  readonly url: string;
  readonly expanded_url?: string | null | undefined;
  readonly display_url?: string | null | undefined;
  readonly indices: OriginalIndices;
  /** The final URL after redirects, with details of the linked page (enhanced URL expansion). */
  readonly unwound?: OriginalUnwoundUrl | undefined;
}

export interface OriginalUnwoundUrl {
  readonly url: string | null;
  /** The HTTP status of the linked page. */
  readonly status: number | null;
  readonly title: string | null;
  readonly description: string | null;
}

export interface OriginalMention {
  readonly screen_name: string;
  readonly name: string | null;
  readonly id: string | null;
  readonly id_str: string | null;
  readonly indices: OriginalIndices;
}

export interface OriginalMedia {
  readonly id: string;
  readonly id_str: string;
  readonly indices: OriginalIndices;
  readonly media_url: string;
  readonly media_url_https: string;
  readonly url: string;
  readonly display_url: string;
  readonly expanded_url: string;
  readonly type: 'photo' | 'video' | 'animated_gif' | (string & {});
  readonly sizes: Readonly<Record<'thumb' | 'small' | 'medium' | 'large', OriginalMediaSize>>;
  readonly video_info?: OriginalVideo | undefined;
  /**
   * The id of the post in which the media was first published. Absent if it was first published in this post.
   */
  readonly source_status_id?: string | undefined;
  readonly source_status_id_str?: string | undefined;
  readonly source_user_id?: string | undefined;
  readonly source_user_id_str?: string | undefined;
  readonly description?: string | null | undefined;
}

export interface OriginalMediaSize {
  /** The width in pixels. */
  readonly w: number;
  readonly h: number;
  readonly resize: 'fit' | 'crop';
}

export interface OriginalVideo {
  readonly aspect_ratio: readonly [number, number];
  readonly duration_millis?: number | undefined;
  readonly variants: readonly {
    readonly bitrate?: number | undefined;
    readonly content_type: string;
    readonly url: string;
  }[];
}

export interface OriginalPoll {
  readonly options: readonly { readonly position: number; readonly text: string }[];
  readonly end_datetime: string;
  readonly duration_minutes: number | string;
}
