import type { Activity, Format } from './activity.js';
import type { ActivityStreamsPost } from './activity-streams-post.js';
import { AUTHOR, HOME, OWN, PLACE, REPLY, SHOWN } from './field-table.js';
import {
  corners,
  digits,
  isObject,
  list,
  mediaIn,
  mentionsIn,
  person,
  position,
  retweetPrefix,
  string,
} from './loose-values.js';
import type { OriginalPost } from './original-post.js';
import type {
  AuthorFields,
  Link,
  Person,
  PlaceFields,
  PostFields,
  SharedFields,
} from './post-fields.js';

/**
 * Creates a function that returns objects with getters. Each getter reads its value from a source when it is
 * used. All these objects have one class, and the getters are in its prototype. Defining the getters for each
 * object would take longer than reading the values.
 */
export function viewOf<Source, Fields extends object>(
  readers: {
    readonly [Name in keyof Fields]: (source: Source) => Fields[Name];
  },
): (source: Source) => Fields {
  class View {
    readonly #source: Source;

    static {
      for (const [name, read] of Object.entries<(source: Source) => unknown>(readers))
        Object.defineProperty(View.prototype, name, {
          get(this: View) {
            return read(this.#source);
          },
        });
    }

    constructor(source: Source) {
      this.#source = source;
    }
  }
  return source => new View(source) as unknown as Fields;
}

interface Source {
  readonly format: Format;
  readonly post: object;
  /**
   * The post that has the text and the entities. For a retweet, this is the retweeted post, otherwise the
   * post itself.
   */
  readonly content: object;
  /**
   * If another post quotes this post, the link enrichments of the other post. They also cover the links of
   * this post.
   */
  readonly outerUrls: readonly EnrichedUrl[];
}

interface EnrichedUrl {
  readonly url?: unknown;
  readonly expanded_url?: unknown;
  readonly expanded_url_title?: unknown;
  readonly expanded_url_description?: unknown;
}

interface UrlEntity {
  readonly url?: unknown;
  readonly expanded_url?: unknown;
  readonly display_url?: unknown;
  readonly unwound?: {
    readonly url?: unknown;
    readonly title?: unknown;
    readonly description?: unknown;
  };
}

export function fieldsOf({ post }: Pick<Activity, 'post'>): PostFields {
  return fieldsIn(sourceOf(post, formatOf(post)));
}

/**
 * Returns the format of a parsed post. Does not use `in`: for a member with a getter, `in` is true even if
 * the value is absent.
 */
export function formatOf(post: Partial<OriginalPost> | ActivityStreamsPost): Format {
  const { created_at: createdAt } = post as Partial<OriginalPost>;
  return createdAt === undefined ? 'activity_streams' : 'original';
}

function sourceOf(post: object, format: Format, outerUrls: readonly EnrichedUrl[] = []): Source {
  return { format, post, content: sharedPost(post, format) ?? post, outerUrls };
}

function sharedPost(post: object, format: Format): object | undefined {
  const shared = OWN.shared.read(post, format);
  if (!isObject(shared)) return undefined;
  if (format === 'original') return shared;
  // In `activity_streams`, the `object` of a post is a note, unless the post is a retweet.
  const isRetweet =
    OWN.verb.read(post, format) === 'share' && OWN.sharedAuthor.read(post, format) !== undefined;
  return isRetweet ? shared : undefined;
}

/** Returns the quoted post. If the post is a retweet, this is the post that the retweeted post quotes. */
function quotedPost({ post, content, format }: Omit<Source, 'outerUrls'>): object | undefined {
  const quoted = SHOWN.quoted.read(content, format) ?? SHOWN.quoted.read(post, format);
  return isObject(quoted) ? quoted : undefined;
}

/**
 * The post from which a field is read:
 * - `own`: the post itself;
 * - `unshared`: the post itself, unless it is a retweet;
 * - `retweet`: the post itself, if it is a retweet;
 * - `shown`: the retweeted post if there is one, otherwise the post itself;
 * - `shared`: the retweeted post;
 * - `quoted`: the quoted post.
 */
export type Part = 'own' | 'unshared' | 'retweet' | 'shown' | 'shared' | 'quoted';

export function partOf(post: object, format: Format, part: Part): object | undefined {
  if (part === 'own') return post;
  const shared = sharedPost(post, format);
  const content = shared ?? post;
  switch (part) {
    case 'unshared':
      return shared === undefined ? post : undefined;
    case 'retweet':
      return shared && post;
    case 'shown':
      return content;
    case 'shared':
      return shared;
    case 'quoted':
      return quotedPost({ post, content, format });
  }
}

interface Readable<T> {
  read(post: object, format: Format): T;
}

function own<T>(field: Readable<T>): (source: Omit<Source, 'outerUrls'>) => T {
  return ({ post, format }) => field.read(post, format);
}

function shown<T>(field: Readable<T>): (source: Source) => T {
  return ({ content, format }) => field.read(content, format);
}

const fieldsIn: (source: Source) => PostFields = viewOf<Source, PostFields>({
  id: own(OWN.id),
  text({ post, content, format }) {
    const text = SHOWN.text.read(content, format);
    return content === post ? text : retweetPrefix(SHOWN.text.read(post, format)) + text;
  },
  link({ post, format }) {
    if (format !== 'original') return OWN.link.read(post, format);
    const handle = AUTHOR.writtenHandle.read(post, format);
    return `http://twitter.com/${handle}/statuses/${OWN.id.read(post, format)}`;
  },
  hashtags: shown(SHOWN.hashtags),
  cashtags: shown(SHOWN.cashtags),
  mentions: mentionsOf,
  links: source => (source.format === 'original' ? linksOf(source) : enrichedLinksOf(source)),
  media: ({ content, format }) =>
    mediaIn(SHOWN.extendedMedia.read(content, format), SHOWN.media.read(content, format)),
  author: source => authorIn(source),
  replyTo: source => replyTo(source),
  repliedId: own(REPLY.id),
  retweeted: source => (source.content === source.post ? undefined : sharedIn(source)),
  isQuote: source =>
    OWN.isQuote.read(source.post, source.format) === true || quotedPost(source) !== undefined,
  quotedId,
  favorites: own(OWN.favorites),
  retweets: own(OWN.retweets),
  replies: own(OWN.replies),
  quotes: own(OWN.quotes),
  possiblySensitive: own(OWN.possiblySensitive),
  withheldIn: own(OWN.withheldIn),
  isNullcast: ({ post, format }) => OWN.toFollowers.read(post, format) === false,
  lang: ({ post, format }) => OWN.lang.read(post, format) || 'und',
  place: source =>
    source.content === source.post && isObject(PLACE.self.read(source.post, source.format))
      ? placeIn(source)
      : undefined,
  position({ post, content, format }) {
    if (content !== post) return undefined;
    const exact = position(OWN.point.read(post, format));
    if (exact !== undefined) return exact;
    const latitudeFirst = position(OWN.geo.read(post, format));
    return latitudeFirst === undefined ? undefined : [latitudeFirst[1], latitudeFirst[0]];
  },
  source: ({ post, format }) => ({
    name: OWN.sourceName.read(post, format),
    link: OWN.sourceLink.read(post, format),
  }),
  quoted(source) {
    const quoted = quotedPost(source);
    return quoted && fieldsIn(sourceOf(quoted, source.format, enrichedUrlsOf(source)));
  },
  quotedText(source) {
    const quoted = quotedPost(source);
    return quoted === undefined ? '' : SHOWN.text.read(quoted, source.format);
  },
});

function quotedId(source: Source): string {
  const { post, content, format } = source;
  const quoted = quotedPost(source);
  const id = quoted === undefined ? '' : OWN.id.read(quoted, format);
  return id || digits(OWN.quotedId.read(content, format) ?? OWN.quotedNumber.read(post, format));
}

function mentionsOf({ post, content, format }: Source): readonly Person[] {
  const mentions = SHOWN.mentions.read(content, format);
  if (content === post) return mentionsIn(mentions);
  return mentionsIn(OWN.mentions.read(post, format), mentions);
}

function linksOf({ content, format }: Source): readonly Link[] {
  return list<UrlEntity>(SHOWN.urls.read(content, format)).map(one => ({
    url: string(one.url),
    expanded: string(one.expanded_url),
    display: string(one.display_url),
    unwound: string(one.unwound?.url),
    title: string(one.unwound?.title),
    description: string(one.unwound?.description),
  }));
}

/**
 * Returns the links of a post in the `activity_streams` format, which has the link targets in a separate
 * list.
 */
function enrichedLinksOf(source: Source): readonly Link[] {
  const enrichedUrls = enrichedUrlsOf(source);
  return list<UrlEntity>(SHOWN.urls.read(source.content, source.format)).map(one => {
    const url = string(one.url);
    const enriched = url === '' ? undefined : enrichedUrls.find(other => other.url === url);
    return {
      url,
      expanded: string(one.expanded_url),
      display: string(one.display_url),
      unwound: string(enriched?.expanded_url),
      title: string(enriched?.expanded_url_title),
      description: string(enriched?.expanded_url_description),
    };
  });
}

function enrichedUrlsOf({ post, content, format, outerUrls }: Source): readonly EnrichedUrl[] {
  const urlsOf = (one: object) => list<EnrichedUrl>(OWN.enrichedUrls.read(one, format));
  return [...outerUrls, ...urlsOf(post), ...(content === post ? [] : urlsOf(content))];
}

function replyTo(source: Source): Person | undefined {
  const { post, format } = source;
  if (!isReply(post, format)) return undefined;
  const handle = REPLY.handle.read(post, format);
  if (format === 'original') return person(REPLY.userId.read(post, format), handle);
  // The link contains only the handle of the answered user. The id is known only if the post also mentions
  // that user, or if that user wrote this post.
  const to = person('', handle);
  const known = mentionsOf(source).find(mention => mention.handle === to.handle);
  return { ...to, id: (known ?? authorWith(to.handle, source))?.id ?? '' };
}

function authorWith(handle: string, { post, format }: Source): Person | undefined {
  const author = personIn(post, format);
  return author.handle === handle ? author : undefined;
}

function isReply(post: object, format: Format): boolean {
  if (format !== 'original') return isObject(REPLY.self.read(post, format));
  const { id, userId, handle } = REPLY;
  return [id, userId, handle].some(field => field.read(post, format) !== '');
}

function personIn(post: object, format: Format): Person {
  return person(AUTHOR.id.read(post, format), AUTHOR.writtenHandle.read(post, format));
}

const sharedIn = viewOf<Source, SharedFields>({
  id: shown(OWN.id),
  author: ({ content, format }) => personIn(content, format),
  postedAt: shown(OWN.postedSecond),
  favorites: shown(OWN.favorites),
  retweets: own(OWN.sharedRetweets),
  isReply: ({ content, format }) => isReply(content, format),
});

const placeIn = viewOf<Source, PlaceFields>({
  id: own(PLACE.id),
  name: own(PLACE.name),
  fullName: own(PLACE.fullName),
  countryCode: own(PLACE.countryCode),
  country: own(PLACE.country),
  type: own(PLACE.type),
  corners: ({ post, format }) => corners(PLACE.outline.read(post, format)),
});

const authorIn = viewOf<Source, AuthorFields>({
  id: own(AUTHOR.id),
  handle: own(AUTHOR.handle),
  writtenHandle: own(AUTHOR.writtenHandle),
  name: own(AUTHOR.name),
  bio: own(AUTHOR.bio),
  location: own(AUTHOR.location),
  url: own(AUTHOR.url),
  image: own(AUTHOR.image),
  verified: own(AUTHOR.verified),
  protected: own(AUTHOR.protected),
  createdAt: own(AUTHOR.createdAt),
  statuses: own(AUTHOR.statuses),
  followers: own(AUTHOR.followers),
  friends: own(AUTHOR.friends),
  listed: own(AUTHOR.listed),
  favorites: own(AUTHOR.favorites),
  homes: ({ post, format }) =>
    list(AUTHOR.homes.read(post, format)).map(home => ({
      countryCode: HOME.countryCode.read(home, format),
      region: HOME.region.read(home, format),
      subregion: HOME.subregion.read(home, format),
      locality: HOME.locality.read(home, format),
      position: position(HOME.point.read(home, format)),
    })),
});
