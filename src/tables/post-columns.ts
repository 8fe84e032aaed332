import { Activity, type Edits, type Format } from '../post/activity.js';
import {
  AUTHOR,
  type Field,
  type FieldKind,
  type FieldValue,
  OWN,
  PLACE,
  REPLY,
  SHOWN,
} from '../post/field-table.js';
import type { Person, Position, PostFields } from '../post/post-fields.js';
import { fieldsOf, formatOf, type Part, partOf } from '../post/read-fields.js';
import { builtIn, type ColumnType, type Definition, definer, type ItemKind } from './column.js';

/**
 * A post, or an item with a post as its member `activity`, such as the items of `routeByTag` and
 * `engagement`.
 */
export type PostItem = Activity | { readonly activity: Activity };

/**
 * The source of a post's values: an `Activity`, or an object with the same members that reads them from
 * bytes.
 */
type PostSource = Pick<Activity, 'id' | 'postedAt' | 'post' | 'matchingRules' | 'tags' | 'edits'>;

/** A post, in the form that columns read. Each part is computed when a column first needs it. */
export class PostView {
  readonly activity: PostSource;
  readonly tag: string | undefined;
  #format: Format | undefined;
  #fields: PostFields | undefined;
  #mentions: readonly Person[] | undefined;
  #edits: { readonly value: Edits | undefined } | undefined;

  constructor(activity: PostSource, tag?: string) {
    this.activity = activity;
    this.tag = tag;
  }

  /**
   * Reads a field of one part of the post, such as the post that it quotes. Returns `undefined` if the post
   * does not have that part.
   */
  read<Kind extends FieldKind>(field: Field<Kind>, of: Part): FieldValue<Kind> | undefined {
    const { post } = this.activity;
    this.#format ??= formatOf(post);
    const part = partOf(post, this.#format, of);
    return part && field.read(part, this.#format);
  }

  get fields(): PostFields {
    this.#fields ??= fieldsOf(this.activity);
    return this.#fields;
  }

  get mentions(): readonly Person[] {
    this.#mentions ??= distinct(this.fields.mentions);
    return this.#mentions;
  }

  /** The edit metadata. Throws if the metadata is damaged, so that only the columns that read it fail. */
  get edits(): Edits | undefined {
    this.#edits ??= { value: this.activity.edits };
    return this.#edits.value;
  }
}

export function isPostItem(item: unknown): item is PostItem {
  return activityOf(item) !== undefined;
}

export function activityOf(item: unknown): Activity | undefined {
  if (item instanceof Activity) return item;
  const carried = typeof item === 'object' && item !== null && 'activity' in item && item.activity;
  return carried instanceof Activity ? carried : undefined;
}

/**
 * The last view that was created. It is cached, because the columns of one row are read one after the other.
 */
let last: { readonly item: PostItem; readonly view: PostView } | undefined;

function viewOf(item: PostItem): PostView {
  if (last?.item !== item) last = { item, view: newView(item) };
  return last.view;
}

function newView(item: PostItem): PostView {
  return new PostView(item instanceof Activity ? item : item.activity, tagOf(item));
}

export function tagOf(item: PostItem): string | undefined {
  return 'tag' in item && typeof item.tag === 'string' ? item.tag : undefined;
}

const of = definer<PostView>();

/**
 * A column whose value is computed from a `PostView`. If the value is a single field, `field` names it.
 * `part` says which post has the field, such as the quoted post; by default, the post itself.
 */
interface PostColumn<Type extends ColumnType = ColumnType> extends Definition<PostView, Type> {
  readonly field?: Field;
  readonly part?: Part;
}

type Strings = 'string' | 'text' | 'lower' | 'upper' | 'id';

/** An empty string becomes null. */
function text(field: Field<Strings>, meaning: string, part: Part = 'own'): PostColumn<'string'> {
  return { ...of('string', meaning, view => view.read(field, part) || null), field, part };
}

function count(field: Field<'count'>, meaning: string, part: Part = 'own'): PostColumn<'int32'> {
  return { ...of('int32', meaning, view => view.read(field, part)), field, part };
}

function flag(field: Field<'flag'>, meaning: string): PostColumn<'boolean'> {
  return { ...of('boolean', meaning, view => view.read(field, 'own')), field };
}

function time(
  field: Field<'second'>,
  meaning: string,
  part: Part = 'own',
): PostColumn<'timestamp'> {
  const value = (view: PostView) => {
    const ms = view.read(field, part);
    return ms === undefined ? null : new Date(ms);
  };
  return { ...of('timestamp', meaning, value), field, part };
}

function list(
  field: Field<'strings' | 'tags'>,
  meaning: string,
  part: Part,
): PostColumn<'list<string>'> {
  return { ...of('list<string>', meaning, view => view.read(field, part)), field, part };
}

/** An empty string becomes null. */
function special(meaning: string, value: (view: PostView) => string | undefined) {
  return of('string', meaning, view => value(view) || null);
}

const ORIGINAL_ONLY = 'the `activity_streams` format does not have it';

const POSTS: ItemKind = {
  name: 'posts',
  accepts: item => {
    const activity = activityOf(item);
    // A post that has no id or is not JSON has no value in any column. This is an error, even if invalid
    // values become null.
    return activity?.id !== undefined && activity.post !== undefined;
  },
};

// Most columns name a field of the post itself or of the post that it retweets or quotes.
// The other columns have a function that computes their value. For some of these, `special-cells.ts` has a
// faster version that reads the bytes of the post.
const COLUMNS = {
  id: of('string', 'Id of the post, digits', ({ activity }) => activity.id),
  posted_at: of('timestamp', 'When it was posted', ({ activity }) => activity.postedAt),
  verb: of('string', '`post`, or `share` of another post', ({ fields }) =>
    fields.retweeted === undefined ? 'post' : 'share',
  ),
  text: of(
    'string',
    'In full, as people read it, with `&` for `&amp;`; a retweet has `RT @handle: ` and the whole shared text',
    ({ fields }) => fields.text,
  ),
  lang: of('string', 'Language code; `und` if none was recognised', ({ fields }) => fields.lang),
  link: special('Address of the post', ({ fields }) => fields.link),

  author_id: text(AUTHOR.id, 'Id of the author, digits'),
  author_handle: text(AUTHOR.writtenHandle, 'Without `@`'),
  author_name: text(AUTHOR.name, 'Display name'),
  author_description: text(AUTHOR.bio, 'Of the profile'),
  author_location: text(AUTHOR.location, 'As the author wrote it'),
  author_url: text(AUTHOR.url, 'Link of the profile'),
  author_image: text(AUTHOR.image, 'Address of the picture'),
  author_verified: flag(AUTHOR.verified, 'Whether the account was verified'),
  author_protected: flag(
    AUTHOR.protected,
    `Whether only followers see the posts; ${ORIGINAL_ONLY}`,
  ),
  author_created_at: time(AUTHOR.createdAt, 'When the account was made, to the second'),
  author_posts: count(AUTHOR.statuses, 'Posts of the author, at the time of the post'),
  author_followers: count(AUTHOR.followers, 'Followers, at the time of the post'),
  author_following: count(AUTHOR.friends, 'Accounts that the author follows'),
  author_listed: count(AUTHOR.listed, 'Lists that the author is in'),
  author_favorites: count(AUTHOR.favorites, 'Posts that the author has liked'),
  author_country_code: text(
    AUTHOR.homeCountryCode,
    'From the location in the profile, if the service recognised it',
  ),
  author_region: text(AUTHOR.homeRegion, 'As `author_country_code`'),
  author_locality: text(AUTHOR.homeLocality, 'As `author_country_code`'),

  favorite_count: count(OWN.favorites, 'Likes, at the time of delivery'),
  retweet_count: count(OWN.retweets, 'Retweets, at the time of delivery'),
  reply_count: count(OWN.replies, `Replies; ${ORIGINAL_ONLY}`),
  quote_count: count(OWN.quotes, `Quotes; ${ORIGINAL_ONLY}`),
  possibly_sensitive: flag(
    OWN.possiblySensitive,
    `Whether a link may lead to sensitive content; ${ORIGINAL_ONLY}`,
  ),
  withheld_countries: list(
    OWN.withheldIn,
    'The countries where it is withheld: two letters each, `XX` for everywhere, `XY` by copyright',
    'own',
  ),
  source: text(OWN.sourceName, 'Name of the application'),
  source_link: text(OWN.sourceLink, 'Its address'),

  place_id: text(PLACE.id, 'Id of the place that the post is tagged with', 'unshared'),
  place_name: text(PLACE.name, 'Such as `Lisbon`', 'unshared'),
  place_full_name: text(PLACE.fullName, 'Such as `Lisbon, Portugal`', 'unshared'),
  place_type: text(PLACE.type, '`city`, `admin`, `country`, `neighborhood` or `poi`', 'unshared'),
  place_country: text(PLACE.country, 'Name of the country', 'unshared'),
  place_country_code: text(PLACE.countryCode, 'Two letters', 'unshared'),
  place_bbox: of(
    'list<double>',
    'The rectangle around the place: west, south, east, north, in degrees',
    ({ fields }) => boxOf(fields.place?.corners ?? []),
  ),
  longitude: of(
    'double',
    'Degrees, if the post has an exact position',
    ({ fields }) => fields.position?.[0],
  ),
  latitude: of('double', 'Degrees', ({ fields }) => fields.position?.[1]),

  hashtags: list(SHOWN.hashtags, 'Without `#`', 'shown'),
  cashtags: list(SHOWN.cashtags, 'Without `$`', 'shown'),
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

  shared_id: text(OWN.id, 'Id of the shared post', 'shared'),
  shared_author_id: text(AUTHOR.id, 'Its author', 'shared'),
  shared_author_handle: text(AUTHOR.writtenHandle, 'Its author', 'shared'),
  shared_posted_at: time(OWN.postedSecond, 'When the shared post was posted', 'shared'),
  shared_favorite_count: count(
    OWN.favorites,
    'Likes of the shared post, at the time of delivery; `favorite_count` of a retweet is 0',
    'shared',
  ),
  shared_retweet_count: count(
    OWN.sharedRetweets,
    'Retweets of the shared post, at the time of delivery',
    'retweet',
  ),
  quoted_id: special(
    'Id of the quoted post; the `activity_streams` format has it only if the quoted post was delivered with it',
    ({ fields }) => fields.quotedId,
  ),
  quoted_author_id: text(AUTHOR.id, 'Its author', 'quoted'),
  quoted_author_handle: text(AUTHOR.writtenHandle, 'Its author', 'quoted'),
  quoted_text: text(SHOWN.text, 'Its text, in full', 'quoted'),
  replied_id: text(REPLY.id, 'Id of the post that it replies to'),
  replied_author_id: special(
    'Its author; the `activity_streams` format has it only if the post mentions that user or is by them',
    ({ fields }) => fields.replyTo?.id,
  ),
  replied_author_handle: text(REPLY.handle, 'Its author'),

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

/** The default columns: the content, author, place, rules and counts of a post. */
export const posts = builtIn(POSTS, viewOf, COLUMNS);

/**
 * The columns for the author of a post. They are the same as the `author_` columns of `posts`, with shorter
 * names. There is one row for each post. For one row for each author, add `dedupe({ key: post =>
 * post.author.id })` before the sink.
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

export const POST_COLUMNS: Readonly<Record<PostColumnName, PostColumn>> = COLUMNS;

/** The name of a column of `tables.posts`. */
export type PostColumnName = keyof typeof posts;

/** Returns the bounding box of positions: west, south, east and north. */
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
