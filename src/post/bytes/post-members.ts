import type { WantedMembers } from '../../json/member-spans.js';

const ENTITIES = values('hashtags symbols user_mentions urls media');
const MEDIA = values('media');
const TEXT = {
  ...values('text full_text'),
  entities: ENTITIES,
  extended_entities: MEDIA,
  extended_tweet: { ...values('full_text'), entities: ENTITIES, extended_entities: MEDIA },
};
const BODY_ENTITIES = { twitter_entities: ENTITIES, twitter_extended_entities: MEDIA };
const BODY = {
  ...values('body'),
  ...BODY_ENTITIES,
  long_object: { ...values('body'), ...BODY_ENTITIES },
};
const ID = values('id id_str');
const USER = { ...ID, ...values('screen_name') };
const ACTOR = values('id preferredUsername');
const POINT = values('coordinates');
const REPLIED = values(
  'in_reply_to_status_id in_reply_to_status_id_str in_reply_to_user_id in_reply_to_user_id_str in_reply_to_screen_name',
);
/** Of a post that a quoted one retweets or quotes: whether there is one, and what of it would count as the quoted one's. */
const SHARED_BY_QUOTED = { ...TEXT, quoted_status: {} };
const SHARED_BY_QUOTED_ACTIVITY = {
  ...BODY,
  actor: {},
  gnip: values('urls'),
  twitter_quoted_status: {},
};
const QUOTED = {
  ...values('quoted_status_id quoted_status_id_str'),
  quoted_status: {
    ...ID,
    ...TEXT,
    ...REPLIED,
    ...values('is_quote_status'),
    user: USER,
    retweeted_status: SHARED_BY_QUOTED,
    quoted_status: {},
  },
};
const QUOTED_ACTIVITY = {
  ...ID,
  ...BODY,
  ...values('verb'),
  actor: ACTOR,
  object: SHARED_BY_QUOTED_ACTIVITY,
  gnip: values('urls'),
  inReplyTo: values('link'),
  twitter_quoted_status: {},
};

/** The members of posts of either format that columns and rules read. Tests hold it to be complete. */
export const POST_MEMBERS: WantedMembers = {
  ...ID,
  ...TEXT,
  ...BODY,
  ...QUOTED,
  ...values('created_at postedTime verb link lang twitter_lang possibly_sensitive source'),
  ...REPLIED,
  ...values('is_quote_status matching_rules'),
  scopes: values('followers'),
  ...values('favorite_count retweet_count reply_count quote_count favoritesCount retweetCount'),
  edit_history: values('initial_tweet_id edit_tweet_ids'),
  edit_controls: values('editable_until_ms edits_remaining'),
  ...values('editable withheld_in_countries'),
  coordinates: POINT,
  geo: POINT,
  user: {
    ...USER,
    ...values('name description location url profile_image_url_https verified protected'),
    ...values('created_at'),
    ...values('statuses_count followers_count friends_count listed_count favourites_count'),
    derived: values('locations'),
  },
  actor: {
    ...ACTOR,
    ...values('displayName summary links image verified postedTime statusesCount followersCount'),
    ...values('friendsCount listedCount favoritesCount'),
    location: values('displayName'),
  },
  retweeted_status: {
    ...ID,
    ...TEXT,
    ...REPLIED,
    ...QUOTED,
    ...values('created_at favorite_count retweet_count'),
    user: USER,
  },
  object: {
    ...ID,
    ...BODY,
    ...values('postedTime favoritesCount retweetCount'),
    actor: ACTOR,
    inReplyTo: values('link'),
    twitter_quoted_status: QUOTED_ACTIVITY,
    gnip: values('urls'),
  },
  twitter_quoted_status: QUOTED_ACTIVITY,
  place: {
    ...values('id name full_name country_code country place_type'),
    bounding_box: POINT,
  },
  location: {
    ...values('link name displayName twitter_country_code country_code twitter_place_type'),
    geo: POINT,
  },
  gnip: { ...values('urls profileLocations matching_rules'), language: values('value') },
  generator: values('displayName link'),
  inReplyTo: values('link'),
};

function values(keys: string): WantedMembers {
  return Object.fromEntries(keys.split(' ').map(key => [key, true]));
}
