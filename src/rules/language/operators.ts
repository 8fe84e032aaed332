import type { HasValue, IsValue, OperatorName, OperatorValues } from './tree.js';

/** Where a rule is used. Historical jobs and replay share one set of operators, search has less. */
export type RuleProduct = 'search' | 'historical' | 'replay';

export const RULE_PRODUCTS = ['search', 'historical', 'replay'] as const satisfies RuleProduct[];

/** The syntax of what stands after the colon. */
export type ValueKind =
  | 'text'
  | 'user'
  | 'id'
  | 'count'
  | 'language'
  | 'country'
  | 'radius'
  | 'box'
  | 'is'
  | 'has'
  | 'percent';

export interface OperatorSpec {
  readonly value: ValueKind;
  /** Whether search offers it; jobs and replay offer all. */
  readonly search: boolean;
  /** Whether a rule may consist of it alone. */
  readonly alone: 'yes' | 'no' | 'not in search';
  readonly aliases: readonly string[];
  /** What it matches, for reference tables. */
  readonly about: string;
}

function operator(
  value: ValueKind,
  about: string,
  { search = false, alone = 'yes', aliases = [] }: Partial<OperatorSpec> = {},
): OperatorSpec {
  return { value, search, alone, aliases, about };
}

const both = { search: true } as const;

/** Every operator that is written `name:value`, under its present name. */
export const operators: { readonly [Name in OperatorName]: OperatorSpec } = {
  contains: operator('text', 'a piece of the text, word boundaries or not'),
  url: operator('text', 'words of an expanded link', both),
  url_contains: operator('text', 'a piece of an expanded link'),
  url_title: operator('text', 'the title of a linked page', { aliases: ['within_url_title'] }),
  url_description: operator('text', 'the description of a linked page', {
    aliases: ['within_url_description'],
  }),
  bio: operator('text', "the author's description", { aliases: ['user_bio'] }),
  bio_name: operator('text', "the author's display name"),
  bio_location: operator('text', "the author's own words on where they are", {
    aliases: ['user_bio_location'],
  }),
  source: operator('text', 'the application that posted', { alone: 'no' }),
  place: operator('text', 'the name or id of the place of the post', both),
  profile_region: operator('text', "the region of the author's home", both),
  profile_locality: operator('text', "the town of the author's home", both),
  profile_subregion: operator('text', "the county of the author's home"),
  from: operator('user', 'the author, by handle or id', both),
  to: operator('user', 'the author of the post that is answered', both),
  retweets_of: operator('user', 'the author of the post that is shared', {
    ...both,
    aliases: ['retweets_of_user'],
  }),
  retweets_of_status_id: operator('id', 'shares of one post', {
    aliases: ['retweets_of_tweet_id'],
  }),
  in_reply_to_status_id: operator('id', 'answers to one post', {
    aliases: ['in_reply_to_tweet_id'],
  }),
  statuses_count: operator('count', 'how many posts the author wrote', {
    aliases: ['tweets_count'],
  }),
  followers_count: operator('count', 'how many follow the author'),
  friends_count: operator('count', 'how many the author follows', {
    aliases: ['following_count'],
  }),
  listed_count: operator('count', 'how many lists the author is in', {
    aliases: ['user_in_lists_count'],
  }),
  lang: operator('language', 'the language of the post', { ...both, alone: 'not in search' }),
  place_country: operator('country', 'the country of the place of the post', both),
  profile_country: operator('country', "the country of the author's home", both),
  point_radius: operator('radius', 'posts from within a circle', both),
  profile_point_radius: operator('radius', 'authors whose home is within a circle'),
  bounding_box: operator('box', 'posts from within a box', {
    ...both,
    aliases: ['geo_bounding_box'],
  }),
  profile_bounding_box: operator('box', 'authors whose home is within a box'),
  is: operator('is', 'what the post is', { ...both, alone: 'no' }),
  has: operator('has', 'what the post carries', { ...both, alone: 'no' }),
  sample: operator('percent', 'a share of all posts, before the rest of the rule', { alone: 'no' }),
};

/** In the order in which the service lists them (service.md 7.3). */
export const hasValues: readonly HasValue[] = [
  'geo',
  'hashtags',
  'images',
  'links',
  'media',
  'mentions',
  'profile_geo',
  'symbols',
  'videos',
];

export const isValues: readonly IsValue[] = ['nullcast', 'quote', 'reply', 'retweet', 'verified'];

/** Other spellings of `has:` values. */
export const hasAliases: ReadonlyMap<string, HasValue> = new Map([
  ['media_link', 'media'],
  ['video_link', 'videos'],
  ['derived_user_geo', 'profile_geo'],
]);

/**
 * Operators of version 1.0 and what stands in for them now (service.md section 9), under the names
 * that the service's documents and its users' old rules know; `undefined` where nothing does.
 */
export const deprecatedOperators: ReadonlyMap<string, OperatorName | undefined> = new Map<
  string,
  OperatorName | undefined
>([
  ['platform_lang', 'lang'],
  ['twitter_lang', 'lang'],
  ['influence_score', undefined],
  ['influence_topic', undefined],
  ['influence_topic_contains', undefined],
  ['influence_topic_id', undefined],
  ['klout_score', undefined],
  ['klout_topic', undefined],
  ['klout_topic_contains', undefined],
  ['klout_topic_id', undefined],
  ['bio_lang', undefined],
  ['time_zone', undefined],
  ['country_code', 'place_country'],
  ['profile_country_code', 'profile_country'],
  ['bio_location_contains', 'bio_location'],
  ['place_contains', 'place'],
  ['profile_region_contains', 'profile_region'],
  ['profile_locality_contains', 'profile_locality'],
  ['profile_subregion_contains', 'profile_subregion'],
  ['bio_name_contains', 'bio_name'],
  ['bio_contains', 'bio'],
]);

/** `has:` values of version 1.0. `has:lang` is now `-lang:und`, the others have no successor. */
export const deprecatedHasValues: ReadonlySet<string> = new Set([
  'lang',
  'profile_geo_region',
  'profile_geo_subregion',
  'profile_geo_locality',
]);

/** Present names and aliases, to present names. */
export const operatorNames: ReadonlyMap<string, OperatorName> = new Map(
  (Object.keys(operators) as OperatorName[]).flatMap(name =>
    [name, ...operators[name].aliases].map(written => [written, name] as const),
  ),
);

/** Whether a product offers an operator; `is:nullcast` is for search alone. */
export function isAvailable<Name extends OperatorName>(
  name: Name,
  value: OperatorValues[Name],
  product: RuleProduct,
): boolean {
  if (name === 'is' && value === 'nullcast') return product === 'search';
  return product !== 'search' || operators[name].search;
}

/** Whether a rule of a product may consist of it alone. */
export function mayStandAlone(name: OperatorName, product: RuleProduct): boolean {
  const { alone } = operators[name];
  return alone === 'yes' || (alone === 'not in search' && product !== 'search');
}
