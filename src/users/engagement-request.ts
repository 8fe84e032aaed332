import { explained, oneOf, shownValue, special } from '../base/check.js';
import { Secret } from '../base/secret.js';
import type { AccessToken } from './sign-in-steps.js';

/**
 * The tokens of the user whose posts are counted. They come from `users.signIn` or the account's settings.
 */
export type UserToken = Pick<AccessToken, 'token' | 'secret'>;

/** The types of engagement that have totals. */
export type EngagementType = 'favorites' | 'retweets' | 'replies';

/** The keys by which totals are nested, outermost first. */
export type GroupBy = 'tweet.id' | 'engagement.type';

/** A grouping: the keys by which its totals are nested, outermost first. */
export interface Grouping {
  readonly group_by: readonly GroupBy[];
}

/** Several groupings, by name. You choose the names. The totals are returned under the same names. */
export type Groupings = Readonly<Record<string, Grouping>>;

/** The type of the counts: strings with exact digits as the service sends them, numbers, or bigints. */
export type CountAs = 'string' | 'number' | 'bigint';

/** The type of a count, as requested: string, number or bigint. */
export type Count<As extends CountAs> = As extends 'number'
  ? number
  : As extends 'bigint'
    ? bigint
    : string;

/**
 * The totals of one grouping, as nested objects. There is one level for each entry of `group_by`, and the
 * counts are innermost.
 */
export type GroupedTotals<
  By extends readonly GroupBy[],
  Type extends EngagementType = EngagementType,
  C = string,
> = By extends readonly [infer First, ...infer Rest extends readonly GroupBy[]]
  ? First extends 'engagement.type'
    ? { readonly [T in Type]?: GroupedTotals<Rest, Type, C> }
    : { readonly [id: string]: GroupedTotals<Rest, Type, C> }
  : By extends readonly []
    ? C
    : Nested<C>;

/** The type of totals if the compiler does not know `group_by`. */
export type Nested<C> = C | { readonly [group: string]: Nested<C> | undefined };

/** The totals of each grouping, by the name of the grouping. */
export type Totals<
  G extends Groupings,
  Type extends EngagementType = EngagementType,
  C = string,
> = { readonly [Name in keyof G]: GroupedTotals<G[Name]['group_by'], Type, C> };

/** Options of all calls for totals: the types of engagement, the user, and the type of the counts. */
export interface CountingOptions<Type extends EngagementType, As extends CountAs> {
  /** The types of engagement to count. @default all three types */
  readonly types?: readonly Type[] | undefined;
  /**
   * The type of the counts: strings with exact digits as the service sends them, numbers, or bigints.
   * @default 'string'
   */
  readonly counts?: As | undefined;
  /**
   * The tokens of the user, from `users.signIn`. @default the account's `accessToken` and
   * `accessTokenSecret`
   */
  readonly token?: UserToken | undefined;
}

export const ENGAGEMENT_TYPES: readonly EngagementType[] = ['favorites', 'retweets', 'replies'];
const GROUPS: readonly GroupBy[] = ['tweet.id', 'engagement.type'];
const MAX_GROUPINGS = 3;
/** Names that cannot be used for groupings, because a response has other members with these names. */
const RESERVED_NAMES = /^(errors|start|end|.*_tweet_ids)$/;
const ID = /^(0|[1-9]\d{0,18})$/;

export const POST_IDS = explained<readonly string[]>('posts of the user', ids => {
  if (!Array.isArray(ids)) return 'must be a list of post ids';
  const wrong: unknown = ids.find(id => typeof id !== 'string' || !ID.test(id));
  if (wrong === undefined) return undefined;
  const shown =
    typeof wrong === 'string' ? JSON.stringify(wrong.slice(0, 40)) : `a ${typeof wrong}`;
  return `must be strings of digits, got ${shown}: numbers lose digits of 64-bit ids`;
});

export const ENGAGEMENT_OPTIONS = {
  types: explained<readonly EngagementType[]>('what there are totals of', types => {
    const known: readonly unknown[] = ENGAGEMENT_TYPES;
    const wrong = Array.isArray(types) ? types.find(type => !known.includes(type)) : types;
    if (Array.isArray(types) && types.length > 0 && wrong === undefined) return undefined;
    return `must be one or more of ${ENGAGEMENT_TYPES.join(', ')}, got ${shownValue(wrong ?? types)}`;
  }),
  counts: oneOf('the type of counts', ['string', 'number', 'bigint']),
  token: special<UserToken>(
    'whose posts they are',
    'what `signIn` or `accessToken` returned',
    value => {
      const { token, secret } = Object(value) as Partial<UserToken>;
      return token instanceof Secret && secret instanceof Secret;
    },
  ),
};

export const GROUPINGS = explained<Groupings>('what totals are grouped by', groupings => {
  const entries: [string, unknown][] =
    typeof groupings === 'object' && groupings !== null ? Object.entries(groupings) : [];
  if (entries.length === 0 || entries.length > MAX_GROUPINGS)
    return `must be one to ${MAX_GROUPINGS} groupings by their names, such as { byPost: { group_by: ['tweet.id', 'engagement.type'] } }`;
  for (const [name, grouping] of entries) {
    const problem = groupingProblem(name, grouping);
    if (problem !== undefined) return problem;
  }
  return undefined;
});

function groupingProblem(name: string, grouping: unknown): string | undefined {
  if (name === '' || RESERVED_NAMES.test(name))
    return `cannot have the name ${JSON.stringify(name)}: the response has other data there`;
  const { group_by: by, ...others } = Object(grouping) as { readonly group_by?: unknown };
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    return `has an unknown member \`${name}.${unknown}\`; did you mean \`${name}.group_by\`?`;
  const known: readonly unknown[] = GROUPS;
  const isGood = Array.isArray(by) && by.length > 0 && by.every(group => known.includes(group));
  if (isGood && new Set(by).size === by.length) return undefined;
  return `must have \`groupings.${name}.group_by\` be ${GROUPS.join(' or ')} or both, each once, got ${JSON.stringify(by)}`;
}

/** Removes duplicates, because repeated ids or types would be counted twice. */
export function distinct<T>(values: readonly T[]): readonly T[] {
  return [...new Set(values)];
}
