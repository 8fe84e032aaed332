import { OptionError } from '../errors.js';
import { checkNames } from '../http/check-names.js';

/** What there are totals of (service.md 4.8). */
export type EngagementType = 'favorites' | 'retweets' | 'replies';

/** What totals are grouped by; the order is that of the nesting. */
export type GroupBy = 'tweet.id' | 'engagement.type';

export interface Grouping {
  readonly group_by: readonly GroupBy[];
}

export type Groupings = Readonly<Record<string, Grouping>>;

/** How counts come: exact as the service has them, or as numbers. */
export type CountAs = 'string' | 'number' | 'bigint';

export type Count<As extends CountAs> = As extends 'number'
  ? number
  : As extends 'bigint'
    ? bigint
    : string;

/** Totals of one grouping: an object for each of `group_by`, one in the other, and then the count. */
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

/** Where `group_by` is not known to the compiler. */
export type Nested<C> = C | { readonly [group: string]: Nested<C> | undefined };

/** Totals by the names of the groupings. */
export type Totals<
  G extends Groupings,
  Type extends EngagementType = EngagementType,
  C = string,
> = { readonly [Name in keyof G]: GroupedTotals<G[Name]['group_by'], Type, C> };

export const ENGAGEMENT_TYPES: readonly EngagementType[] = ['favorites', 'retweets', 'replies'];
const GROUPS: readonly GroupBy[] = ['tweet.id', 'engagement.type'];
const MOST_GROUPINGS = 3;
/** What stands beside the groupings in an answer. */
const TAKEN = /^(errors|start|end|.*_tweet_ids)$/;
const ID = /^(0|[1-9]\d{0,18})$/;

/** Each once, in their order: one that comes twice would count twice. */
export function checkIds(ids: unknown): readonly string[] {
  if (!Array.isArray(ids)) throw new OptionError('ids', 'Expected `ids` to be a list of post ids');
  for (const id of ids as readonly unknown[])
    if (typeof id !== 'string' || !ID.test(id))
      throw new OptionError(
        'ids',
        `Expected \`ids\` to be strings of digits, and ${typeof id === 'string' ? JSON.stringify(id.slice(0, 40)) : `a ${typeof id}`} is among them: numbers lose digits of 64-bit ids`,
      );
  return [...new Set<string>(ids)];
}

export function checkTypes(types: unknown): readonly EngagementType[] {
  const known: readonly unknown[] = ENGAGEMENT_TYPES;
  const wrong = Array.isArray(types) ? types.find(type => !known.includes(type)) : types;
  if (!Array.isArray(types) || types.length === 0 || wrong !== undefined)
    throw new OptionError(
      'types',
      `Expected \`types\` to be one or more of ${ENGAGEMENT_TYPES.join(', ')}, got ${JSON.stringify(wrong ?? types)}`,
    );
  return [...new Set<EngagementType>(types)];
}

export function checkGroupings(groupings: unknown): Groupings {
  const entries: [string, unknown][] =
    typeof groupings === 'object' && groupings !== null ? Object.entries(groupings) : [];
  if (entries.length === 0 || entries.length > MOST_GROUPINGS)
    throw new OptionError(
      'groupings',
      `Expected \`groupings\` to be one to ${MOST_GROUPINGS} groupings by their names, such as { byPost: { group_by: ['tweet.id', 'engagement.type'] } }`,
    );
  for (const [name, grouping] of entries) {
    if (name === '' || TAKEN.test(name))
      throw new OptionError(
        'groupings',
        `A grouping cannot be named ${JSON.stringify(name)}: the answer has other things there`,
      );
    checkNames(`groupings.${name}`, grouping, ['group_by']);
    const by: unknown = (grouping as { readonly group_by?: unknown }).group_by;
    const known: readonly unknown[] = GROUPS;
    const good = Array.isArray(by) && by.length > 0 && by.every(group => known.includes(group));
    if (!good || new Set(by).size < by.length)
      throw new OptionError(
        'groupings',
        `Expected \`groupings.${name}.group_by\` to be ${GROUPS.join(' or ')} or both, each once, got ${JSON.stringify(by)}`,
      );
  }
  return groupings as Groupings;
}

export function checkCountAs(counts: unknown): CountAs {
  if (counts !== 'string' && counts !== 'number' && counts !== 'bigint')
    throw new OptionError(
      'counts',
      `Expected \`counts\` to be 'string', 'number' or 'bigint', got ${JSON.stringify(counts)}`,
    );
  return counts;
}
