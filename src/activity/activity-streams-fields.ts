import type {
  ActivityStreamsPost,
  StreamsActor,
  StreamsEntities,
  StreamsUrl,
} from './activity-streams-post.js';
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
  tagTexts,
  unescaped,
  wholeSeconds,
} from './loose-values.js';
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
import { parseIsoTime } from './posted-at.js';

/** The fields that rules test and tables show, read from a post of the `activity_streams` format. */
export class ActivityStreamsFields implements PostFields {
  readonly #post: ActivityStreamsPost;
  /** The activity that has text and entities: for a share, the shared one. */
  readonly #content: ActivityStreamsPost;
  /** Link enrichments are at the root of the document, also those of a quoted post. */
  readonly #enrichedUrls: readonly StreamsUrl[];

  constructor(post: ActivityStreamsPost, enrichedUrls: readonly StreamsUrl[] = []) {
    this.#post = post;
    this.#content =
      post.verb === 'share' && isObject(post.object) && isActivity(post.object)
        ? post.object
        : post;
    this.#enrichedUrls = [
      ...enrichedUrls,
      ...list(post.gnip?.urls),
      ...(this.#content === post ? [] : list(this.#content.gnip?.urls)),
    ];
  }

  get id(): string {
    return digits(this.#post.id);
  }

  get text(): string {
    const whole = textOf(this.#content);
    return this.#content === this.#post ? whole : retweetPrefix(this.#post.body) + whole;
  }

  get link(): string {
    return string(this.#post.link);
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
    return mentionsIn(this.#post.twitter_entities?.user_mentions, mentions);
  }

  get links(): readonly Link[] {
    return list(this.#entities?.urls).map(({ url, expanded_url, display_url }) => {
      const enriched = this.#enrichedUrls.find(entry => entry.url === url);
      return {
        url: string(url),
        expanded: string(expanded_url),
        display: string(display_url),
        unwound: string(enriched?.expanded_url),
        title: string(enriched?.expanded_url_title),
        description: string(enriched?.expanded_url_description),
      };
    });
  }

  get media(): readonly Medium[] {
    const { long_object, twitter_extended_entities } = this.#content;
    const extended = long_object?.twitter_extended_entities ?? twitter_extended_entities;
    return mediaIn(extended?.media, this.#entities?.media);
  }

  get author(): AuthorFields {
    return new ActivityStreamsAuthor(this.#post);
  }

  /** The link contains the handle. The id is known only if the post also mentions that user or is by them. */
  get replyTo(): Person | undefined {
    if (!isObject(this.#post.inReplyTo)) return undefined;
    const { handle, writtenHandle } = person('', replyParts(this.#post)?.[1]);
    const { author } = this;
    const known = this.mentions.find(mention => mention.handle === handle) ?? author;
    return { id: known.handle === handle ? known.id : '', handle, writtenHandle };
  }

  get repliedId(): string {
    return replyParts(this.#post)?.[2] ?? '';
  }

  get retweeted(): SharedFields | undefined {
    return this.#content === this.#post ? undefined : new StreamsShared(this.#content, this.#post);
  }

  get isQuote(): boolean {
    return this.quoted !== undefined;
  }

  get quotedId(): string {
    return this.quoted?.id ?? '';
  }

  get favorites(): number | undefined {
    return count(this.#post.favoritesCount);
  }

  get retweets(): number | undefined {
    return count(this.#post.retweetCount);
  }

  get replies(): undefined {
    return undefined;
  }

  get quotes(): undefined {
    return undefined;
  }

  get possiblySensitive(): undefined {
    return undefined;
  }

  get withheldIn(): undefined {
    return undefined;
  }

  get isNullcast(): boolean {
    return false;
  }

  get lang(): string {
    const { twitter_lang, gnip } = this.#post;
    return string(twitter_lang ?? gnip?.language?.value).toLowerCase() || 'und';
  }

  get place(): PlaceFields | undefined {
    const { location } = this.#post;
    if (!isObject(location) || this.#content !== this.#post) return undefined;
    return {
      id: /([^/]+)\.json$/.exec(string(location.link))?.[1] ?? '',
      name: string(location.name),
      fullName: string(location.displayName),
      countryCode: string(location.twitter_country_code).toUpperCase(),
      country: string(location.country_code),
      type: string(location.twitter_place_type),
      corners: corners(location.geo?.coordinates),
    };
  }

  get position(): Position | undefined {
    if (this.#content !== this.#post) return undefined;
    const latitudeFirst = position(this.#post.geo?.coordinates);
    return latitudeFirst === undefined ? undefined : [latitudeFirst[1], latitudeFirst[0]];
  }

  get source(): { readonly name: string; readonly link: string } {
    const { generator } = this.#post;
    return { name: unescaped(generator?.displayName), link: string(generator?.link) };
  }

  get quoted(): ActivityStreamsFields | undefined {
    const quoted = this.#quoted;
    return quoted && new ActivityStreamsFields(quoted, this.#enrichedUrls);
  }

  get quotedText(): string {
    const quoted = this.#quoted;
    return quoted === undefined ? '' : textOf(quoted);
  }

  get #quoted(): ActivityStreamsPost | undefined {
    const quoted = this.#content.twitter_quoted_status ?? this.#post.twitter_quoted_status;
    return isObject(quoted) ? quoted : undefined;
  }

  get #entities(): StreamsEntities | undefined {
    return this.#content.long_object?.twitter_entities ?? this.#content.twitter_entities;
  }
}

/** The text of the activity itself. */
function textOf({ long_object: long, body }: ActivityStreamsPost): string {
  return unescaped(long?.body ?? body);
}

/** Not by `in`: the members of a `SpannedPost` are getters. */
function isActivity(object: object): object is ActivityStreamsPost {
  return (object as Partial<ActivityStreamsPost>).actor !== undefined;
}

/** Handle and id of `http://twitter.com/USER/statuses/ID`. */
function replyParts({ inReplyTo }: ActivityStreamsPost): RegExpExecArray | null {
  return /\/([^/]+)\/status(?:es)?\/(\d+)/.exec(string(inReplyTo?.link));
}

class StreamsShared implements SharedFields {
  readonly #post: ActivityStreamsPost;
  readonly #share: ActivityStreamsPost;

  constructor(post: ActivityStreamsPost, share: ActivityStreamsPost) {
    this.#post = post;
    this.#share = share;
  }

  get id(): string {
    return digits(this.#post.id);
  }

  get author(): Person {
    const { actor } = this.#post;
    return person(actor?.id, actor?.preferredUsername);
  }

  get postedAt(): number | undefined {
    return wholeSeconds(parseIsoTime(string(this.#post.postedTime)));
  }

  get favorites(): number | undefined {
    return count(this.#post.favoritesCount);
  }

  /** Real shares have the number at their root alone. */
  get retweets(): number | undefined {
    return count(this.#post.retweetCount ?? this.#share.retweetCount);
  }
}

class ActivityStreamsAuthor implements AuthorFields {
  readonly #actor: Partial<StreamsActor>;
  readonly #post: ActivityStreamsPost;

  constructor(post: ActivityStreamsPost) {
    this.#post = post;
    this.#actor = post.actor ?? {};
  }

  get id(): string {
    return digits(this.#actor.id);
  }

  get handle(): string {
    return string(this.#actor.preferredUsername).toLowerCase();
  }

  get writtenHandle(): string {
    return string(this.#actor.preferredUsername);
  }

  get name(): string {
    return unescaped(this.#actor.displayName);
  }

  get bio(): string {
    return unescaped(this.#actor.summary);
  }

  get location(): string {
    return unescaped(this.#actor.location?.displayName);
  }

  get url(): string {
    return string(list(this.#actor.links)[0]?.href);
  }

  get image(): string {
    return string(this.#actor.image);
  }

  get verified(): boolean | undefined {
    return flag(this.#actor.verified);
  }

  get protected(): undefined {
    return undefined;
  }

  get createdAt(): number | undefined {
    return wholeSeconds(parseIsoTime(string(this.#actor.postedTime)));
  }

  get favorites(): number | undefined {
    return count(this.#actor.favoritesCount);
  }

  get statuses(): number | undefined {
    return count(this.#actor.statusesCount);
  }

  get followers(): number | undefined {
    return count(this.#actor.followersCount);
  }

  get friends(): number | undefined {
    return count(this.#actor.friendsCount);
  }

  get listed(): number | undefined {
    return count(this.#actor.listedCount);
  }

  get homes(): readonly Home[] {
    return list(this.#post.gnip?.profileLocations).map(({ address, geo }) => ({
      countryCode: string(address?.countryCode).toUpperCase(),
      region: string(address?.region),
      subregion: string(address?.subRegion),
      locality: string(address?.locality),
      position: position(geo?.coordinates),
    }));
  }
}
