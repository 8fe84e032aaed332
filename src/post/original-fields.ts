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
import type { OriginalEntities, OriginalPost, OriginalUser } from './original-post.js';
import type { AuthorFields, Person, PostFields, SharedFields } from './post-fields.js';
import { parseCreatedAt } from './posted-at.js';
import { viewOf } from './view-of.js';

interface Source {
  readonly post: OriginalPost;
  /** The post that has text and entities: for a retweet, the retweeted one. */
  readonly content: OriginalPost;
}

/** The fields that rules test and tables show, read from a post of the `original` format. */
export function originalFields(post: OriginalPost): PostFields {
  const { retweeted_status: shared } = post;
  return fieldsIn({ post, content: isObject(shared) ? shared : post });
}

const fieldsIn = viewOf<Source, PostFields>({
  id: ({ post }) => digits(post.id_str ?? post.id),
  text: ({ post, content }) =>
    content === post ? textOf(post) : retweetPrefix(textOf(post)) + textOf(content),
  link: ({ post }) =>
    `http://twitter.com/${string(post.user?.screen_name)}/statuses/${digits(post.id_str ?? post.id)}`,
  hashtags: ({ content }) => tagTexts(entitiesOf(content)?.hashtags),
  cashtags: ({ content }) => tagTexts(entitiesOf(content)?.symbols),
  mentions({ post, content }) {
    const { user_mentions: mentions } = entitiesOf(content) ?? {};
    if (content === post) return mentionsIn(mentions);
    return mentionsIn(post.entities?.user_mentions, mentions);
  },
  links: ({ content }) =>
    list(entitiesOf(content)?.urls).map(({ url, expanded_url, display_url, unwound }) => ({
      url: string(url),
      expanded: string(expanded_url),
      display: string(display_url),
      unwound: string(unwound?.url),
      title: string(unwound?.title),
      description: string(unwound?.description),
    })),
  media({ content }) {
    const { extended_tweet, extended_entities } = content;
    const extended = extended_tweet?.extended_entities ?? extended_entities;
    return mediaIn(extended?.media, entitiesOf(content)?.media);
  },
  author: ({ post }) => authorIn(post.user ?? {}),
  replyTo: ({ post }) => replyTo(post),
  repliedId: ({ post }) => repliedId(post),
  retweeted: ({ post, content }) => (content === post ? undefined : sharedIn(content)),
  isQuote: source => source.post.is_quote_status === true || quotedIn(source) !== undefined,
  quotedId(source) {
    const { quoted_status_id_str: twin, quoted_status_id: id } = source.content;
    const quoted = quotedIn(source);
    return (
      digits(quoted?.id_str ?? quoted?.id) || digits(twin ?? id ?? source.post.quoted_status_id)
    );
  },
  favorites: ({ post }) => count(post.favorite_count),
  retweets: ({ post }) => count(post.retweet_count),
  replies: ({ post }) => count(post.reply_count),
  quotes: ({ post }) => count(post.quote_count),
  possiblySensitive: ({ post }) => flag(post.possibly_sensitive),
  withheldIn: ({ post }) => strings(post.withheld_in_countries),
  isNullcast: ({ post }) => post.scopes?.followers === false,
  lang: ({ post }) => string(post.lang).toLowerCase() || 'und',
  place({ post, content }) {
    const { place } = post;
    if (!isObject(place) || content !== post) return undefined;
    return {
      id: string(place.id),
      name: string(place.name),
      fullName: string(place.full_name),
      countryCode: string(place.country_code).toUpperCase(),
      country: string(place.country),
      type: string(place.place_type),
      corners: corners(place.bounding_box?.coordinates),
    };
  },
  position({ post, content }) {
    if (content !== post) return undefined;
    const exact = position(post.coordinates?.coordinates);
    if (exact !== undefined) return exact;
    const latitudeFirst = position(post.geo?.coordinates);
    return latitudeFirst === undefined ? undefined : [latitudeFirst[1], latitudeFirst[0]];
  },
  source({ post }) {
    const html = string(post.source);
    const parts = /^<a\s[^>]*?href="([^"]*)"[^>]*>(.*)<\/a>$/s.exec(html);
    return { name: unescaped(parts?.[2] ?? html), link: unescaped(parts?.[1]) };
  },
  quoted(source) {
    const quoted = quotedIn(source);
    return quoted && originalFields(quoted);
  },
  quotedText(source) {
    const quoted = quotedIn(source);
    return quoted === undefined ? '' : textOf(quoted);
  },
});

/** The text of the post itself. */
function textOf({ extended_tweet: extended, full_text: full, text }: OriginalPost): string {
  return unescaped(extended?.full_text ?? full ?? text);
}

function entitiesOf(content: OriginalPost): OriginalEntities | undefined {
  return content.extended_tweet?.entities ?? content.entities;
}

function replyTo(post: OriginalPost): Person | undefined {
  const {
    in_reply_to_user_id_str: idString,
    in_reply_to_user_id: id,
    in_reply_to_screen_name: handle,
  } = post;
  const to = person(idString ?? id, handle);
  return to.id === '' && to.handle === '' && repliedId(post) === '' ? undefined : to;
}

function repliedId(post: OriginalPost): string {
  return digits(post.in_reply_to_status_id_str ?? post.in_reply_to_status_id);
}

function quotedIn({ post, content }: Source): OriginalPost | undefined {
  const quoted = content.quoted_status ?? post.quoted_status;
  return isObject(quoted) ? quoted : undefined;
}

const sharedIn = viewOf<OriginalPost, SharedFields>({
  id: post => digits(post.id_str ?? post.id),
  author: ({ user }) => person(user?.id_str ?? user?.id, user?.screen_name),
  postedAt: post => wholeSeconds(parseCreatedAt(string(post.created_at))),
  favorites: post => count(post.favorite_count),
  retweets: post => count(post.retweet_count),
  isReply: post => replyTo(post) !== undefined,
});

const authorIn = viewOf<Partial<OriginalUser>, AuthorFields>({
  id: user => digits(user.id_str ?? user.id),
  handle: user => string(user.screen_name).toLowerCase(),
  writtenHandle: user => string(user.screen_name),
  name: user => unescaped(user.name),
  bio: user => unescaped(user.description),
  location: user => unescaped(user.location),
  url: user => string(user.url),
  image: user => string(user.profile_image_url_https),
  verified: user => flag(user.verified),
  protected: user => flag(user.protected),
  createdAt: user => wholeSeconds(parseCreatedAt(string(user.created_at))),
  favorites: user => count(user.favourites_count),
  statuses: user => count(user.statuses_count),
  followers: user => count(user.followers_count),
  friends: user => count(user.friends_count),
  listed: user => count(user.listed_count),
  homes: user =>
    list(user.derived?.locations).map(home => ({
      countryCode: string(home.country_code).toUpperCase(),
      region: string(home.region),
      subregion: string(home.sub_region),
      locality: string(home.locality),
      position: position(home.geo?.coordinates),
    })),
});
