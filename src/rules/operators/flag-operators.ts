import type { HasValue, IsValue } from '../tree.js';
import { exactTerm, type PostTest, type RuleOperator, specOf } from './operator.js';

const IS: { readonly [V in IsValue]: PostTest } = {
  nullcast: ({ fields }) => fields.isNullcast,
  quote: ({ parts }) => parts.some(part => part.isQuote),
  reply: ({ parts, fields, dialect }) =>
    parts.some(part => part.replyTo !== undefined) ||
    (dialect.readsQuoted && fields.retweeted?.isReply === true),
  retweet: ({ fields }) => fields.retweeted !== undefined,
  verified: ({ fields }) => fields.author.verified === true,
};

/** A test for each `has:` value, in the order in which the service's messages list these values. */
const HAS: { readonly [V in HasValue]: PostTest } = {
  geo: ({ fields }) => fields.place !== undefined || fields.position !== undefined,
  hashtags: ({ parts }) => parts.some(part => part.hashtags.length > 0),
  images: ({ fields }) => fields.media.some(({ type }) => type === 'photo'),
  // Media and quoted posts count as links. The text of the post contains their links, but the list of links
  // may not.
  links: ({ parts }) =>
    parts.some(part => part.links.length > 0 || part.media.length > 0 || part.isQuote),
  media: ({ parts }) => parts.some(part => part.media.length > 0),
  mentions: ({ parts }) => parts.some(part => part.mentions.length > 0),
  profile_geo: ({ fields }) => fields.author.homes.length > 0,
  symbols: ({ parts }) => parts.some(part => part.cashtags.length > 0),
  videos: ({ fields }) => fields.media.some(({ type }) => type === 'video'),
};

export const isValues: readonly IsValue[] = Object.keys(IS) as IsValue[];
export const hasValues: readonly HasValue[] = Object.keys(HAS) as HasValue[];

export const hasAliases: ReadonlyMap<string, HasValue> = new Map([
  ['media_link', 'media'],
  ['video_link', 'videos'],
  ['derived_user_geo', 'profile_geo'],
]);

export const is: RuleOperator<IsValue> = flagOperator('is', 'what the post is', IS);
export const has: RuleOperator<HasValue> = flagOperator('has', 'what the post carries', HAS);

function flagOperator<Value extends string>(
  kind: 'is' | 'has',
  about: string,
  flags: { readonly [V in Value]: PostTest },
): RuleOperator<Value> {
  return {
    ...specOf(kind, about, { search: true, alone: 'not in search' }),
    test: value => flags[value],
    terms: (value, _dialect, prefix) => exactTerm(prefix + value),
    index: { kind: 'flags', flags },
    frequency: () => 0.2,
  };
}
