import fc from 'fast-check';
import { type AuthorModel, type PlaceModel, type PostModel, postModel } from './post-model.js';
import { printJson, type Style, style, type Value } from './print-json.js';

type Members = { readonly [key: string]: Value };

export interface ArbitraryPost {
  readonly model: PostModel;
  readonly format: 'original' | 'activity_streams';
  readonly json: string;
  readonly bytes: Buffer;
  readonly [fc.toStringMethod]: () => string;
}

export const arbitraryPost: fc.Arbitrary<ArbitraryPost> = fc
  .tuple(postModel, fc.constantFrom('original' as const, 'activity_streams' as const), style)
  .map(([model, format, look]) => writePost(model, format, look));

/** Prints a post as a JSON document. By default, the JSON style is that of the service. */
export function writePost(
  model: PostModel,
  format: ArbitraryPost['format'],
  look?: Style,
): ArbitraryPost {
  const members = format === 'original' ? originalMembers(model) : streamsMembers(model);
  const json = printJson(members, look);
  return { model, format, json, bytes: Buffer.from(json), [fc.toStringMethod]: () => json };
}

function createdAt(date: Date): string {
  const [day, date2, month, year, time] = date.toUTCString().replace(',', '').split(' ');
  return `${day} ${month} ${date2} ${time} +0000 ${year}`;
}

function originalMembers(post: PostModel): Members {
  return {
    created_at: createdAt(post.postedAt),
    id: post.id,
    id_str: String(post.id),
    text: post.text,
    source: '<a href="http://example.com/app" rel="nofollow">An "App"</a>',
    truncated: post.longText !== undefined,
    ...(post.longText === undefined
      ? {}
      : {
          extended_tweet: {
            full_text: post.longText,
            display_text_range: [0, post.longText.length],
            entities: entities(post, true),
          },
        }),
    in_reply_to_status_id: post.replyTo?.id ?? null,
    in_reply_to_status_id_str: idString(post.replyTo?.id),
    in_reply_to_user_id: post.replyTo?.author.id ?? null,
    in_reply_to_user_id_str: idString(post.replyTo?.author.id),
    in_reply_to_screen_name: post.replyTo?.author.handle ?? null,
    user: originalUser(post.author),
    geo: post.point === undefined ? null : { type: 'Point', coordinates: post.point.toReversed() },
    coordinates: post.point === undefined ? null : { type: 'Point', coordinates: post.point },
    place: post.place === undefined ? null : originalPlace(post.place),
    contributors: null,
    ...(post.shared === undefined ? {} : { retweeted_status: originalMembers(post.shared) }),
    is_quote_status: post.quoted !== undefined,
    ...(post.quoted === undefined
      ? {}
      : {
          quoted_status_id: post.quoted.id,
          quoted_status_id_str: String(post.quoted.id),
          quoted_status: originalMembers(post.quoted),
        }),
    quote_count: 0,
    reply_count: 0,
    retweet_count: post.retweets,
    favorite_count: post.likes,
    entities: entities(post, true),
    ...(post.media.length === 0 ? {} : { extended_entities: { media: mediaOf(post) } }),
    favorited: false,
    retweeted: false,
    ...(post.withheldIn === undefined ? {} : { withheld_in_countries: post.withheldIn }),
    filter_level: 'low',
    lang: post.lang,
    timestamp_ms: String(post.postedAt.getTime()),
    ...editMembers(post),
    ...ruleMembers(post),
  };
}

function streamsMembers(post: PostModel): Members {
  const link = `http://twitter.com/${post.author.handle}/statuses/${post.id}`;
  const postedTime = post.postedAt.toISOString();
  const note = {
    objectType: 'note',
    id: `object:search.twitter.com,2005:${post.id}`,
    summary: post.text,
    link,
    postedTime,
  };
  return {
    id: `tag:search.twitter.com,2005:${post.id}`,
    objectType: 'activity',
    verb: post.shared === undefined ? 'post' : 'share',
    postedTime,
    generator: { displayName: 'An "App"', link: 'http://example.com/app' },
    provider: { objectType: 'service', displayName: 'Twitter', link: 'http://www.twitter.com' },
    link,
    body: post.text,
    ...(post.longText === undefined
      ? {}
      : {
          long_object: {
            body: post.longText,
            display_text_range: [0, post.longText.length],
            twitter_entities: entities(post, false),
          },
        }),
    actor: streamsActor(post.author),
    object: post.shared === undefined ? note : streamsMembers(post.shared),
    ...(post.replyTo === undefined
      ? {}
      : {
          inReplyTo: {
            link: `http://twitter.com/${post.replyTo.author.handle}/statuses/${post.replyTo.id}`,
          },
        }),
    ...(post.place === undefined ? {} : { location: streamsPlace(post.place) }),
    ...(post.point === undefined
      ? {}
      : { geo: { type: 'Point', coordinates: post.point.toReversed() } }),
    twitter_entities: entities(post, false),
    ...(post.media.length === 0 ? {} : { twitter_extended_entities: { media: mediaOf(post) } }),
    twitter_lang: post.lang,
    twitter_filter_level: 'low',
    favoritesCount: post.likes,
    retweetCount: post.retweets,
    ...(post.quoted === undefined ? {} : { twitter_quoted_status: streamsMembers(post.quoted) }),
    ...(post.withheldIn === undefined ? {} : { withheld_in_countries: post.withheldIn }),
    ...editMembers(post),
    gnip: {
      urls: post.links.map(({ url, title, description }, index) => ({
        url: shortLink(index),
        expanded_url: url,
        expanded_status: 200,
        expanded_url_title: title,
        expanded_url_description: description,
      })),
      ...ruleMembers(post),
    },
  };
}

function originalUser(user: AuthorModel): Members {
  return {
    id: user.id,
    id_str: String(user.id),
    name: user.name,
    screen_name: user.handle,
    location: user.location ?? null,
    description: user.bio,
    verified: user.verified,
    protected: user.isProtected,
    followers_count: user.followers,
    created_at: 'Tue Mar 21 20:50:14 +0000 2006',
  };
}

function streamsActor(user: AuthorModel): Members {
  return {
    objectType: 'person',
    id: `id:twitter.com:${user.id}`,
    link: `http://www.twitter.com/${user.handle}`,
    displayName: user.name,
    preferredUsername: user.handle,
    postedTime: '2006-03-21T20:50:14.123Z',
    summary: user.bio,
    followersCount: user.followers,
    verified: user.verified,
    ...(user.location === undefined
      ? {}
      : { location: { objectType: 'place', displayName: user.location } }),
  };
}

function ring([west, south, east, north]: PlaceModel['box']): Value {
  return [
    [west, south],
    [west, north],
    [east, north],
    [east, south],
  ];
}

function originalPlace(at: PlaceModel): Members {
  return {
    id: '01a9a39529b27f36',
    place_type: 'city',
    name: at.name,
    full_name: `${at.name}, ${at.countryCode}`,
    country_code: at.countryCode,
    country: at.country,
    bounding_box: { type: 'Polygon', coordinates: [ring(at.box)] },
    attributes: {},
  };
}

function streamsPlace(at: PlaceModel): Members {
  return {
    objectType: 'place',
    displayName: `${at.name}, ${at.countryCode}`,
    name: at.name,
    country_code: at.country,
    twitter_country_code: at.countryCode,
    twitter_place_type: 'city',
    link: 'https://api.twitter.com/1.1/geo/id/01a9a39529b27f36.json',
    geo: { type: 'Polygon', coordinates: [ring(at.box)] },
  };
}

function entities(post: PostModel, unwound: boolean): Members {
  return {
    hashtags: post.hashtags.map(text => ({ text, indices: [0, text.length + 1] })),
    symbols: post.symbols.map(text => ({ text, indices: [0, text.length + 1] })),
    user_mentions: post.mentions.map(({ id, handle, name: called }) => ({
      screen_name: handle,
      name: called,
      id,
      id_str: String(id),
      indices: [0, handle.length + 1],
    })),
    urls: post.links.map(({ url, title, description }, index) => ({
      url: shortLink(index),
      expanded_url: url,
      display_url: url.replace(/^https?:\/\//, ''),
      indices: [0, 23],
      ...(unwound ? { unwound: { url, status: 200, title, description } } : {}),
    })),
    ...(post.media.length === 0 ? {} : { media: mediaOf(post).slice(0, 1) }),
  };
}

function mediaOf(post: PostModel): Members[] {
  return post.media.map((type, index) => {
    const id = post.id + BigInt(index);
    return {
      id,
      id_str: String(id),
      indices: [0, 23],
      media_url_https: `https://pbs.twimg.com/media/${id}.jpg`,
      url: shortLink(9),
      expanded_url: `https://twitter.com/x/status/${post.id}/photo/1`,
      type,
      source_status_id: post.id,
      source_status_id_str: String(post.id),
    };
  });
}

function editMembers(post: PostModel): Members {
  if (post.edits.length === 0) return {};
  return {
    edit_history: {
      initial_tweet_id: String(post.edits[0]),
      edit_tweet_ids: post.edits.map(String),
    },
    edit_controls: { editable_until_ms: post.postedAt.getTime() + 1_800_000, edits_remaining: 5 },
    editable: true,
  };
}

function ruleMembers(post: PostModel): Members {
  if (post.rules === undefined) return {};
  return {
    matching_rules: post.rules.map(({ tag, id, value }) => ({
      ...(value === undefined ? {} : { value }),
      tag,
      ...(id === undefined ? {} : { id, id_str: String(id) }),
    })),
  };
}

function idString(id: bigint | undefined): string | null {
  return id === undefined ? null : String(id);
}

function shortLink(index: number): string {
  return `https://t.co/abcdefghi${index}`;
}
