import { Activity, type Edits } from '../post/activity.js';
import { fieldsOf } from '../post/fields-of.js';
import type {
  AuthorFields,
  Home,
  Person,
  PlaceFields,
  Position,
  PostFields,
} from '../post/post-fields.js';
import { builtIn, type Definition, definer, type ItemKind } from './built-in.js';
import type { ColumnType } from './column.js';

/** A post, or an item that carries one, as `routeByTag` and `engagement` give. */
export type PostItem = Activity | { readonly activity: Activity };

/** A post as `Activity` shows it, or as it is read from its bytes. */
type PostSource = Pick<Activity, 'id' | 'postedAt' | 'post' | 'matchingRules' | 'tags' | 'edits'>;

/** What a row of a post is read from. Both formats are read through the same fields, each when a column needs it. */
export class PostView {
  readonly activity: PostSource;
  /** The tag that the post is routed by. */
  readonly tag: string | undefined;
  #fields: PostFields | undefined;
  #author: AuthorFields | undefined;
  #home: readonly Home[] | undefined;
  #place: { readonly value: PlaceFields | undefined } | undefined;
  #mentions: readonly Person[] | undefined;
  #shared: { readonly value: PostFields['retweeted'] } | undefined;
  #edits: { readonly value: Edits | undefined } | undefined;

  constructor(activity: PostSource, tag?: string) {
    this.activity = activity;
    this.tag = tag;
  }

  get fields(): PostFields {
    this.#fields ??= fieldsOf(this.activity);
    return this.#fields;
  }

  get author(): AuthorFields {
    this.#author ??= this.fields.author;
    return this.#author;
  }

  get home(): Home | undefined {
    this.#home ??= this.author.homes;
    return this.#home[0];
  }

  get place(): PlaceFields | undefined {
    this.#place ??= { value: this.fields.place };
    return this.#place.value;
  }

  get mentions(): readonly Person[] {
    this.#mentions ??= distinct(this.fields.mentions);
    return this.#mentions;
  }

  get shared(): PostFields['retweeted'] {
    this.#shared ??= { value: this.fields.retweeted };
    return this.#shared.value;
  }

  /** Throws for damaged edit metadata, which only its columns need. */
  get edits(): Edits | undefined {
    this.#edits ??= { value: this.activity.edits };
    return this.#edits.value;
  }
}

export function isPostItem(item: unknown): item is PostItem {
  return activityOf(item) !== undefined;
}

/** The post of an item, if it has one. */
export function activityOf(item: unknown): Activity | undefined {
  if (item instanceof Activity) return item;
  const carried = typeof item === 'object' && item !== null && 'activity' in item && item.activity;
  return carried instanceof Activity ? carried : undefined;
}

/** The columns of one row are read one after the other, so the last view is kept. */
let last: { readonly item: PostItem; readonly view: PostView } | undefined;

function viewOf(item: PostItem): PostView {
  if (last?.item !== item) last = { item, view: newView(item) };
  return last.view;
}

function newView(item: PostItem): PostView {
  return new PostView(item instanceof Activity ? item : item.activity, tagOf(item));
}

/** The tag that `routeByTag` routed an item by. */
export function tagOf(item: PostItem): string | undefined {
  return 'tag' in item && typeof item.tag === 'string' ? item.tag : undefined;
}

const of = definer<PostView>();

/** A text; none where it is empty. */
function text(meaning: string, value: (view: PostView) => string | undefined) {
  return of('string', meaning, view => value(view) || null);
}

const ORIGINAL_ONLY = 'the `activity_streams` format does not have it';

const POSTS: ItemKind = {
  name: 'posts',
  accepts: item => {
    const activity = activityOf(item);
    // Without JSON or an id, no column has a value: an error, also where invalid values become null.
    return activity?.id !== undefined && activity.post !== undefined;
  },
};

const COLUMNS = {
  id: of('string', 'Id of the post, digits', ({ activity }) => activity.id),
  posted_at: of('timestamp', 'When it was posted', ({ activity }) => activity.postedAt),
  verb: of('string', '`post`, or `share` of another post', ({ shared }) =>
    shared === undefined ? 'post' : 'share',
  ),
  text: of(
    'string',
    'In full, as people read it, with `&` for `&amp;`; a retweet has `RT @handle: ` and the whole shared text',
    ({ fields }) => fields.text,
  ),
  lang: of('string', 'Language code; `und` if none was recognised', ({ fields }) => fields.lang),
  link: text('Address of the post', ({ fields }) => fields.link),

  author_id: text('Id of the author, digits', ({ author }) => author.id),
  author_handle: text('Without `@`', ({ author }) => author.writtenHandle),
  author_name: text('Display name', ({ author }) => author.name),
  author_description: text('Of the profile', ({ author }) => author.bio),
  author_location: text('As the author wrote it', ({ author }) => author.location),
  author_url: text('Link of the profile', ({ author }) => author.url),
  author_image: text('Address of the picture', ({ author }) => author.image),
  author_verified: of(
    'boolean',
    'Whether the account was verified',
    ({ author }) => author.verified,
  ),
  author_protected: of(
    'boolean',
    `Whether only followers see the posts; ${ORIGINAL_ONLY}`,
    ({ author }) => author.protected,
  ),
  author_created_at: of('timestamp', 'When the account was made, to the second', ({ author }) =>
    author.createdAt === undefined ? null : new Date(author.createdAt),
  ),
  author_posts: of(
    'int32',
    'Posts of the author, at the time of the post',
    ({ author }) => author.statuses,
  ),
  author_followers: of(
    'int32',
    'Followers, at the time of the post',
    ({ author }) => author.followers,
  ),
  author_following: of('int32', 'Accounts that the author follows', ({ author }) => author.friends),
  author_listed: of('int32', 'Lists that the author is in', ({ author }) => author.listed),
  author_favorites: of(
    'int32',
    'Posts that the author has liked',
    ({ author }) => author.favorites,
  ),
  author_country_code: text(
    'From the location in the profile, if the service recognised it',
    ({ home }) => home?.countryCode,
  ),
  author_region: text('As `author_country_code`', ({ home }) => home?.region),
  author_locality: text('As `author_country_code`', ({ home }) => home?.locality),

  favorite_count: of('int32', 'Likes, at the time of delivery', ({ fields }) => fields.favorites),
  retweet_count: of('int32', 'Retweets, at the time of delivery', ({ fields }) => fields.retweets),
  reply_count: of('int32', `Replies; ${ORIGINAL_ONLY}`, ({ fields }) => fields.replies),
  quote_count: of('int32', `Quotes; ${ORIGINAL_ONLY}`, ({ fields }) => fields.quotes),
  possibly_sensitive: of(
    'boolean',
    `Whether a link may lead to sensitive content; ${ORIGINAL_ONLY}`,
    ({ fields }) => fields.possiblySensitive,
  ),
  withheld_countries: of(
    'list<string>',
    'Where it is withheld: two letters each, `XX` for everywhere, `XY` by copyright',
    ({ fields }) => fields.withheldIn,
  ),
  source: text('Name of the application', ({ fields }) => fields.source.name),
  source_link: text('Its address', ({ fields }) => fields.source.link),

  place_id: text('Id of the place that the post is tagged with', ({ place }) => place?.id),
  place_name: text('Such as `Lisbon`', ({ place }) => place?.name),
  place_full_name: text('Such as `Lisbon, Portugal`', ({ place }) => place?.fullName),
  place_type: text(
    '`city`, `admin`, `country`, `neighborhood` or `poi`',
    ({ place }) => place?.type,
  ),
  place_country: text('Name of the country', ({ place }) => place?.country),
  place_country_code: text('Two letters', ({ place }) => place?.countryCode),
  place_bbox: of(
    'list<double>',
    'The rectangle around the place: west, south, east, north, in degrees',
    ({ place }) => boxOf(place?.corners ?? []),
  ),
  longitude: of(
    'double',
    'Degrees, if the post has an exact position',
    ({ fields }) => fields.position?.[0],
  ),
  latitude: of('double', 'Degrees', ({ fields }) => fields.position?.[1]),

  hashtags: of('list<string>', 'Without `#`', ({ fields }) => fields.hashtags),
  cashtags: of('list<string>', 'Without `$`', ({ fields }) => fields.cashtags),
  mentioned_ids: of('list<string>', 'Ids of the mentioned users, each once', ({ mentions }) =>
    mentions.map(({ id }) => id),
  ),
  mentioned_handles: of('list<string>', 'Their handles, in the same order', ({ mentions }) =>
    mentions.map(({ writtenHandle }) => writtenHandle),
  ),
  links: of('list<string>', 'Links in the text, expanded as far as the service did', ({ fields }) =>
    fields.links.map(({ unwound, expanded, url }) => unwound || expanded || url),
  ),
  media_types: of(
    'list<string>',
    '`photo`, `video` or `animated_gif`, one for each medium',
    ({ fields }) => fields.media.map(({ type }) => type),
  ),
  media_urls: of('list<string>', 'Pictures, or stills of videos, in the same order', ({ fields }) =>
    fields.media.map(({ url }) => url),
  ),

  shared_id: text('Id of the shared post', ({ shared }) => shared?.id),
  shared_author_id: text('Its author', ({ shared }) => shared?.author.id),
  shared_author_handle: text('Its author', ({ shared }) => shared?.author.writtenHandle),
  shared_posted_at: of('timestamp', 'When the shared post was posted', ({ shared }) =>
    shared?.postedAt === undefined ? null : new Date(shared.postedAt),
  ),
  shared_favorite_count: of(
    'int32',
    'Likes of the shared post, at the time of delivery; `favorite_count` of a retweet is 0',
    ({ shared }) => shared?.favorites,
  ),
  shared_retweet_count: of(
    'int32',
    'Retweets of the shared post, at the time of delivery',
    ({ shared }) => shared?.retweets,
  ),
  quoted_id: text(
    'Id of the quoted post; the `activity_streams` format has it only if the quoted post was delivered with it',
    ({ fields }) => fields.quotedId,
  ),
  quoted_author_id: text('Its author', ({ fields }) => fields.quoted?.author.id),
  quoted_author_handle: text('Its author', ({ fields }) => fields.quoted?.author.writtenHandle),
  quoted_text: text('Its text, in full', ({ fields }) => fields.quotedText),
  replied_id: text('Id of the post that it replies to', ({ fields }) => fields.repliedId),
  replied_author_id: text(
    'Its author; the `activity_streams` format has it only if the post mentions that user or is by them',
    ({ fields }) => fields.replyTo?.id,
  ),
  replied_author_handle: text('Its author', ({ fields }) => fields.replyTo?.writtenHandle),

  edit_initial_id: of('string', 'Id of the first version', ({ edits }) => edits?.initialId),
  edit_ids: of('list<string>', 'Ids of all versions, ascending', ({ edits }) => edits?.ids),
  editable_until: of(
    'timestamp',
    'Until when it can be edited',
    ({ edits }) => edits?.editableUntil,
  ),
  edits_remaining: of('int32', 'Edits that are left', ({ edits }) => edits?.remaining),
  is_editable: of('boolean', 'Whether it can be edited at all', ({ edits }) => edits?.editable),

  rule_ids: of('list<string>', 'Ids of the rules that it matched', ({ activity }) =>
    activity.matchingRules.map(({ id }) => id).filter(id => id !== undefined),
  ),
  rule_tags: of('list<string>', 'Their tags, each once', ({ activity }) => activity.tags),
  tag: of('string', 'The tag that `routeByTag` routed this row by', ({ tag }) => tag),
};

/** The default columns: content, author, place, rules and counts of a post. */
export const posts = builtIn(POSTS, viewOf, COLUMNS);

/**
 * The columns of the author of a post: the same as the `author_` columns of `posts`, by shorter names. A row is of one
 * post, so `dedupe({ key: post => post.author.id })` before the sink makes it a row an author.
 */
export const users = builtIn(POSTS, viewOf, {
  id: COLUMNS.author_id,
  handle: COLUMNS.author_handle,
  name: COLUMNS.author_name,
  description: COLUMNS.author_description,
  location: COLUMNS.author_location,
  url: COLUMNS.author_url,
  image: COLUMNS.author_image,
  verified: COLUMNS.author_verified,
  protected: COLUMNS.author_protected,
  created_at: COLUMNS.author_created_at,
  posts: COLUMNS.author_posts,
  followers: COLUMNS.author_followers,
  following: COLUMNS.author_following,
  listed: COLUMNS.author_listed,
  favorites: COLUMNS.author_favorites,
  country_code: COLUMNS.author_country_code,
  region: { ...COLUMNS.author_region, meaning: 'As `country_code`' },
  locality: { ...COLUMNS.author_locality, meaning: 'As `country_code`' },
  seen_in: { ...COLUMNS.id, meaning: 'Id of the post that the row was read from' },
  seen_at: { ...COLUMNS.posted_at, meaning: 'When that post was posted' },
});

/** What each column reads of a post. */
export const POST_COLUMNS: Readonly<Record<PostColumnName, Definition<PostView, ColumnType>>> =
  COLUMNS;

/** The name of a column of `tables.posts`. */
export type PostColumnName = keyof typeof posts;

/** West, south, east, north. */
function boxOf(corners: readonly Position[]): readonly number[] | null {
  if (corners.length === 0) return null;
  const [longitudes, latitudes] = [corners.map(([at]) => at), corners.map(([, at]) => at)];
  return [
    ...[Math.min(...longitudes), Math.min(...latitudes)],
    ...[Math.max(...longitudes), Math.max(...latitudes)],
  ];
}

function distinct(people: readonly Person[]): readonly Person[] {
  if (people.length < 2) return people;
  return [...new Map(people.map(person => [`${person.id}@${person.handle}`, person])).values()];
}
