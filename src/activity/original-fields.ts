import {
  corners,
  count,
  digits,
  flag,
  isObject,
  list,
  mediaIn,
  mentionsIn,
  person,
  position,
  retweetPrefix,
  string,
  strings,
  tagTexts,
  unescaped,
  wholeSeconds,
} from './loose-values.js';
import type { OriginalPost, OriginalUser } from './original-post.js';
import type {
  AuthorFields,
  Home,
  Link,
  Medium,
  Person,
  PlaceFields,
  Position,
  PostFields,
  SharedFields,
} from './post-fields.js';
import { parseCreatedAt } from './posted-at.js';

/** The fields that rules test and tables show, read from a post of the `original` format. */
export class OriginalFields implements PostFields {
  readonly #post: OriginalPost;
  /** The post that has text and entities: for a retweet, the retweeted one. */
  readonly #content: OriginalPost;

  constructor(post: OriginalPost) {
    this.#post = post;
    this.#content = isObject(post.retweeted_status) ? post.retweeted_status : post;
  }

  get id(): string {
    return digits(this.#post.id_str ?? this.#post.id);
  }

  get text(): string {
    const whole = textOf(this.#content);
    return this.#content === this.#post ? whole : retweetPrefix(this.#post.text) + whole;
  }

  get link(): string {
    return `http://twitter.com/${this.author.writtenHandle}/statuses/${this.id}`;
  }

  get hashtags(): readonly string[] {
    return tagTexts(this.#entities?.hashtags);
  }

  get cashtags(): readonly string[] {
    return tagTexts(this.#entities?.symbols);
  }

  get mentions(): readonly Person[] {
    const { user_mentions: mentions } = this.#entities ?? {};
    if (this.#content === this.#post) return mentionsIn(mentions);
    return mentionsIn(this.#post.entities?.user_mentions, mentions);
  }

  get links(): readonly Link[] {
    return list(this.#entities?.urls).map(({ url, expanded_url, display_url, unwound }) => ({
      url: string(url),
      expanded: string(expanded_url),
      display: string(display_url),
      unwound: string(unwound?.url),
      title: string(unwound?.title),
      description: string(unwound?.description),
    }));
  }

  get media(): readonly Medium[] {
    const { extended_tweet, extended_entities } = this.#content;
    const extended = extended_tweet?.extended_entities ?? extended_entities;
    return mediaIn(extended?.media, this.#entities?.media);
  }

  get author(): AuthorFields {
    return new OriginalAuthor(this.#post.user ?? {});
  }

  get replyTo(): Person | undefined {
    const {
      in_reply_to_user_id_str: idString,
      in_reply_to_user_id: id,
      in_reply_to_screen_name: handle,
    } = this.#post;
    const to = person(idString ?? id, handle);
    return to.id === '' && to.handle === '' && this.repliedId === '' ? undefined : to;
  }

  get repliedId(): string {
    return digits(this.#post.in_reply_to_status_id_str ?? this.#post.in_reply_to_status_id);
  }

  get retweeted(): SharedFields | undefined {
    return this.#content === this.#post ? undefined : new OriginalShared(this.#content);
  }

  get isQuote(): boolean {
    return this.#post.is_quote_status === true || this.quoted !== undefined;
  }

  get quotedId(): string {
    const { quoted_status_id_str: twin, quoted_status_id: id } = this.#content;
    return this.quoted?.id || digits(twin ?? id ?? this.#post.quoted_status_id);
  }

  get favorites(): number | undefined {
    return count(this.#post.favorite_count);
  }

  get retweets(): number | undefined {
    return count(this.#post.retweet_count);
  }

  get replies(): number | undefined {
    return count(this.#post.reply_count);
  }

  get quotes(): number | undefined {
    return count(this.#post.quote_count);
  }

  get possiblySensitive(): boolean | undefined {
    return flag(this.#post.possibly_sensitive);
  }

  get withheldIn(): readonly string[] | undefined {
    return strings(this.#post.withheld_in_countries);
  }

  get isNullcast(): boolean {
    return this.#post.scopes?.followers === false;
  }

  get lang(): string {
    return string(this.#post.lang).toLowerCase() || 'und';
  }

  get place(): PlaceFields | undefined {
    const { place } = this.#post;
    if (!isObject(place) || this.#content !== this.#post) return undefined;
    return {
      id: string(place.id),
      name: string(place.name),
      fullName: string(place.full_name),
      countryCode: string(place.country_code).toUpperCase(),
      country: string(place.country),
      type: string(place.place_type),
      corners: corners(place.bounding_box?.coordinates),
    };
  }

  get position(): Position | undefined {
    if (this.#content !== this.#post) return undefined;
    const exact = position(this.#post.coordinates?.coordinates);
    if (exact !== undefined) return exact;
    const latitudeFirst = position(this.#post.geo?.coordinates);
    return latitudeFirst === undefined ? undefined : [latitudeFirst[1], latitudeFirst[0]];
  }

  get source(): { readonly name: string; readonly link: string } {
    const html = string(this.#post.source);
    const parts = /^<a\s[^>]*?href="([^"]*)"[^>]*>(.*)<\/a>$/s.exec(html);
    return { name: unescaped(parts?.[2] ?? html), link: unescaped(parts?.[1]) };
  }

  get quoted(): OriginalFields | undefined {
    const quoted = this.#quoted;
    return quoted && new OriginalFields(quoted);
  }

  get quotedText(): string {
    const quoted = this.#quoted;
    return quoted === undefined ? '' : textOf(quoted);
  }

  get #quoted(): OriginalPost | undefined {
    const quoted = this.#content.quoted_status ?? this.#post.quoted_status;
    return isObject(quoted) ? quoted : undefined;
  }

  get #entities(): OriginalPost['entities'] | undefined {
    return this.#content.extended_tweet?.entities ?? this.#content.entities;
  }
}

/** The text of the post itself. */
function textOf({ extended_tweet: extended, full_text: full, text }: OriginalPost): string {
  return unescaped(extended?.full_text ?? full ?? text);
}

class OriginalShared implements SharedFields {
  readonly #post: OriginalPost;

  constructor(post: OriginalPost) {
    this.#post = post;
  }

  get id(): string {
    return digits(this.#post.id_str ?? this.#post.id);
  }

  get author(): Person {
    const { user } = this.#post;
    return person(user?.id_str ?? user?.id, user?.screen_name);
  }

  get postedAt(): number | undefined {
    return wholeSeconds(parseCreatedAt(string(this.#post.created_at)));
  }

  get favorites(): number | undefined {
    return count(this.#post.favorite_count);
  }

  get retweets(): number | undefined {
    return count(this.#post.retweet_count);
  }
}

class OriginalAuthor implements AuthorFields {
  readonly #user: Partial<OriginalUser>;

  constructor(user: Partial<OriginalUser>) {
    this.#user = user;
  }

  get id(): string {
    return digits(this.#user.id_str ?? this.#user.id);
  }

  get handle(): string {
    return string(this.#user.screen_name).toLowerCase();
  }

  get writtenHandle(): string {
    return string(this.#user.screen_name);
  }

  get name(): string {
    return unescaped(this.#user.name);
  }

  get bio(): string {
    return unescaped(this.#user.description);
  }

  get location(): string {
    return unescaped(this.#user.location);
  }

  get url(): string {
    return string(this.#user.url);
  }

  get image(): string {
    return string(this.#user.profile_image_url_https);
  }

  get verified(): boolean | undefined {
    return flag(this.#user.verified);
  }

  get protected(): boolean | undefined {
    return flag(this.#user.protected);
  }

  get createdAt(): number | undefined {
    return wholeSeconds(parseCreatedAt(string(this.#user.created_at)));
  }

  get favorites(): number | undefined {
    return count(this.#user.favourites_count);
  }

  get statuses(): number | undefined {
    return count(this.#user.statuses_count);
  }

  get followers(): number | undefined {
    return count(this.#user.followers_count);
  }

  get friends(): number | undefined {
    return count(this.#user.friends_count);
  }

  get listed(): number | undefined {
    return count(this.#user.listed_count);
  }

  get homes(): readonly Home[] {
    return list(this.#user.derived?.locations).map(home => ({
      countryCode: string(home.country_code).toUpperCase(),
      region: string(home.region),
      subregion: string(home.sub_region),
      locality: string(home.locality),
      position: position(home.geo?.coordinates),
    }));
  }
}
