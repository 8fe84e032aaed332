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
  strings,
  tagTexts,
  unescaped,
  wholeSeconds,
} from './loose-values.js';
import type { AuthorFields, PostFields, SharedFields } from './post-fields.js';
import { parseIsoTime } from './posted-at.js';
import { viewOf } from './view-of.js';

interface Source {
  readonly post: ActivityStreamsPost;
  /** The activity that has text and entities: for a retweet, the shared one. */
  readonly content: ActivityStreamsPost;
  /** Link enrichments of posts around this one: those of a quoted post are at the root of the document. */
  readonly outerUrls: readonly StreamsUrl[];
}

/** The fields that rules test and tables show, read from a post of the `activity_streams` format. */
export function activityStreamsFields(
  post: ActivityStreamsPost,
  outerUrls: readonly StreamsUrl[] = [],
): PostFields {
  const { object } = post;
  const isRetweet = post.verb === 'share' && isObject(object) && isActivity(object);
  return fieldsIn({ post, content: isRetweet ? object : post, outerUrls });
}

const fieldsIn = viewOf<Source, PostFields>({
  id: ({ post }) => digits(post.id),
  text: ({ post, content }) =>
    content === post ? textOf(post) : retweetPrefix(textOf(post)) + textOf(content),
  link: ({ post }) => string(post.link),
  hashtags: ({ content }) => tagTexts(entitiesOf(content)?.hashtags),
  cashtags: ({ content }) => tagTexts(entitiesOf(content)?.symbols),
  mentions: mentionsOf,
  links(source) {
    const enrichedUrls = enrichedUrlsOf(source);
    return list(entitiesOf(source.content)?.urls).map(({ url, expanded_url, display_url }) => {
      const enriched = string(url) === '' ? undefined : enrichedUrls.find(one => one.url === url);
      return {
        url: string(url),
        expanded: string(expanded_url),
        display: string(display_url),
        unwound: string(enriched?.expanded_url),
        title: string(enriched?.expanded_url_title),
        description: string(enriched?.expanded_url_description),
      };
    });
  },
  media({ content }) {
    const { long_object, twitter_extended_entities } = content;
    const extended = long_object?.twitter_extended_entities ?? twitter_extended_entities;
    return mediaIn(extended?.media, entitiesOf(content)?.media);
  },
  author: ({ post }) => authorIn({ actor: post.actor ?? {}, post }),
  /** The link contains the handle. The id is known only if the post also mentions that user or is by them. */
  replyTo(source) {
    const { post } = source;
    if (!isObject(post.inReplyTo)) return undefined;
    const { handle, writtenHandle } = person('', replyParts(post)?.[1]);
    const author = person(post.actor?.id, post.actor?.preferredUsername);
    const known = mentionsOf(source).find(mention => mention.handle === handle) ?? author;
    return { id: known.handle === handle ? known.id : '', handle, writtenHandle };
  },
  repliedId: ({ post }) => replyParts(post)?.[2] ?? '',
  retweeted: source => (source.content === source.post ? undefined : sharedIn(source)),
  isQuote: source => quotedIn(source) !== undefined,
  quotedId: source => digits(quotedIn(source)?.id),
  favorites: ({ post }) => count(post.favoritesCount),
  retweets: ({ post }) => count(post.retweetCount),
  replies: () => undefined,
  quotes: () => undefined,
  possiblySensitive: () => undefined,
  withheldIn: ({ post }) => strings(post.withheld_in_countries),
  isNullcast: () => false,
  lang({ post }) {
    const { twitter_lang, gnip } = post;
    return string(twitter_lang ?? gnip?.language?.value).toLowerCase() || 'und';
  },
  place({ post, content }) {
    const { location } = post;
    if (!isObject(location) || content !== post) return undefined;
    return {
      id: /([^/]+)\.json$/.exec(string(location.link))?.[1] ?? '',
      name: string(location.name),
      fullName: string(location.displayName),
      countryCode: string(location.twitter_country_code).toUpperCase(),
      country: string(location.country_code),
      type: string(location.twitter_place_type),
      corners: corners(location.geo?.coordinates),
    };
  },
  position({ post, content }) {
    if (content !== post) return undefined;
    const latitudeFirst = position(post.geo?.coordinates);
    return latitudeFirst === undefined ? undefined : [latitudeFirst[1], latitudeFirst[0]];
  },
  source: ({ post: { generator } }) => ({
    name: unescaped(generator?.displayName),
    link: string(generator?.link),
  }),
  quoted(source) {
    const quoted = quotedIn(source);
    return quoted && activityStreamsFields(quoted, enrichedUrlsOf(source));
  },
  quotedText(source) {
    const quoted = quotedIn(source);
    return quoted === undefined ? '' : textOf(quoted);
  },
});

/** The text of the activity itself. */
function textOf({ long_object: long, body }: ActivityStreamsPost): string {
  return unescaped(long?.body ?? body);
}

function entitiesOf(content: ActivityStreamsPost): StreamsEntities | undefined {
  return content.long_object?.twitter_entities ?? content.twitter_entities;
}

function mentionsOf({ post, content }: Source): PostFields['mentions'] {
  const { user_mentions: mentions } = entitiesOf(content) ?? {};
  if (content === post) return mentionsIn(mentions);
  return mentionsIn(post.twitter_entities?.user_mentions, mentions);
}

function enrichedUrlsOf({ post, content, outerUrls }: Source): readonly StreamsUrl[] {
  const shared = content === post ? [] : list(content.gnip?.urls);
  return [...outerUrls, ...list(post.gnip?.urls), ...shared];
}

function quotedIn({ post, content }: Source): ActivityStreamsPost | undefined {
  const quoted = content.twitter_quoted_status ?? post.twitter_quoted_status;
  return isObject(quoted) ? quoted : undefined;
}

/** Not by `in`: the members of a `SpannedPost` are getters. */
function isActivity(object: object): object is ActivityStreamsPost {
  return (object as Partial<ActivityStreamsPost>).actor !== undefined;
}

/** Handle and id of `http://twitter.com/USER/statuses/ID`. */
function replyParts({ inReplyTo }: ActivityStreamsPost): RegExpExecArray | null {
  return /\/([^/]+)\/status(?:es)?\/(\d+)/.exec(string(inReplyTo?.link));
}

const sharedIn = viewOf<Source, SharedFields>({
  id: ({ content }) => digits(content.id),
  author: ({ content: { actor } }) => person(actor?.id, actor?.preferredUsername),
  postedAt: ({ content }) => wholeSeconds(parseIsoTime(string(content.postedTime))),
  favorites: ({ content }) => count(content.favoritesCount),
  /** Real retweets have the number at their root alone. */
  retweets: ({ post, content }) => count(content.retweetCount ?? post.retweetCount),
  isReply: ({ content }) => isObject(content.inReplyTo),
});

interface AuthorSource {
  readonly actor: Partial<StreamsActor>;
  readonly post: ActivityStreamsPost;
}

const authorIn = viewOf<AuthorSource, AuthorFields>({
  id: ({ actor }) => digits(actor.id),
  handle: ({ actor }) => string(actor.preferredUsername).toLowerCase(),
  writtenHandle: ({ actor }) => string(actor.preferredUsername),
  name: ({ actor }) => unescaped(actor.displayName),
  bio: ({ actor }) => unescaped(actor.summary),
  location: ({ actor }) => unescaped(actor.location?.displayName),
  url: ({ actor }) => string(list(actor.links)[0]?.href),
  image: ({ actor }) => string(actor.image),
  verified: ({ actor }) => flag(actor.verified),
  protected: () => undefined,
  createdAt: ({ actor }) => wholeSeconds(parseIsoTime(string(actor.postedTime))),
  favorites: ({ actor }) => count(actor.favoritesCount),
  statuses: ({ actor }) => count(actor.statusesCount),
  followers: ({ actor }) => count(actor.followersCount),
  friends: ({ actor }) => count(actor.friendsCount),
  listed: ({ actor }) => count(actor.listedCount),
  homes: ({ post }) =>
    list(post.gnip?.profileLocations).map(({ address, geo }) => ({
      countryCode: string(address?.countryCode).toUpperCase(),
      region: string(address?.region),
      subregion: string(address?.subRegion),
      locality: string(address?.locality),
      position: position(geo?.coordinates),
    })),
});
