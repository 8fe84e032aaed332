import type { Person } from '../../post/post-fields.js';
import type { RuleProduct } from '../post/dialect.js';
import { holdsPhrase, wordsOf, wordTerms } from '../post/phrase.js';
import type { OperatorName, OperatorValues } from '../tree.js';
import { homeOperator, positionOperator, withinBox, withinRadius } from './area-operator.js';
import { contains, urlContains } from './contains-operators.js';
import { has, is } from './flag-operators.js';
import { type OperatorSpec, type RuleOperator, specOf } from './operator.js';
import {
  countOperator,
  fieldOperator,
  keyOperator,
  languageKey,
  lowerCase,
  sample,
  sourceKey,
  upperCase,
} from './value-operators.js';

/** The operator `url:`. It matches words like a keyword does, but only in links. */
const url: RuleOperator<string> = {
  ...specOf('text', 'words of an expanded link', { search: true }),
  test(value, dialect) {
    const phrase = wordsOf(value, dialect);
    return ({ addresses }) => addresses.some(tokens => holdsPhrase(tokens, phrase));
  },
  terms: (value, dialect) => ({
    required: [...wordTerms(wordsOf(value, dialect).words)],
    exact: false,
  }),
  frequency: word => word,
};

/**
 * All operators of the form `name:value`, by their current names. Parsing, matching, indexing and the
 * archive's search use this table. To add an operator, add an entry here, and the type of its value to
 * `OperatorValues`.
 */
export const ruleOperators: {
  readonly [Name in OperatorName]: RuleOperator<OperatorValues[Name]>;
} = {
  contains,
  url,
  url_contains: urlContains,
  url_title: fieldOperator('the title of a linked page', {
    texts: post => post.links.map(link => link.title),
    aliases: ['within_url_title'],
  }),
  url_description: fieldOperator('the description of a linked page', {
    texts: post => post.links.map(link => link.description),
    aliases: ['within_url_description'],
  }),
  bio: fieldOperator("the author's description", {
    texts: post => [post.author.bio],
    aliases: ['user_bio'],
  }),
  bio_name: fieldOperator("the author's display name", { texts: post => [post.author.name] }),
  bio_location: fieldOperator("the author's location, as the author wrote it", {
    texts: post => [post.author.location],
    aliases: ['user_bio_location'],
  }),
  source: keyOperator('text', 'the application that posted', {
    keys: ({ source }, dialect) => [
      sourceKey(source.name, dialect),
      sourceKey(source.link, dialect),
    ],
    keyOf: sourceKey,
    frequency: 0.05,
    alone: 'no',
  }),
  place: fieldOperator('the name or id of the place of the post', {
    texts: ({ place }) => (place === undefined ? [] : [place.name, place.fullName, place.id]),
    frequency: word => 0.1 * word,
    search: true,
  }),
  profile_region: fieldOperator("the region of the author's home", {
    texts: post => post.author.homes.map(home => home.region),
    search: true,
  }),
  profile_locality: fieldOperator("the town of the author's home", {
    texts: post => post.author.homes.map(home => home.locality),
    search: true,
  }),
  profile_subregion: fieldOperator("the county of the author's home", {
    texts: post => post.author.homes.map(home => home.subregion),
  }),
  from: keyOperator('user', 'the author, by handle or id', {
    keys: ({ author }) => namesOf(author),
    keyOf: lowerCase,
    frequency: 0.00005,
    search: true,
  }),
  to: keyOperator('user', 'the author of the post that is replied to', {
    keys: ({ replyTo }) => namesOf(replyTo),
    keyOf: lowerCase,
    frequency: 0.0002,
    search: true,
  }),
  retweets_of: keyOperator('user', 'the author of the post that is shared', {
    keys: ({ retweeted }) => namesOf(retweeted?.author),
    keyOf: lowerCase,
    frequency: 0.0002,
    search: true,
    aliases: ['retweets_of_user'],
  }),
  retweets_of_status_id: keyOperator('id', 'retweets of one post', {
    keys: ({ retweeted }) => (retweeted === undefined ? [] : [retweeted.id]),
    frequency: 0.00001,
    aliases: ['retweets_of_tweet_id'],
  }),
  in_reply_to_status_id: keyOperator('id', 'replies to one post', {
    keys: ({ repliedId }) => (repliedId === '' ? [] : [repliedId]),
    frequency: 0.00001,
    aliases: ['in_reply_to_tweet_id'],
  }),
  statuses_count: countOperator('how many posts the author wrote', author => author.statuses, [
    'tweets_count',
  ]),
  followers_count: countOperator('how many follow the author', author => author.followers),
  friends_count: countOperator('how many the author follows', author => author.friends, [
    'following_count',
  ]),
  listed_count: countOperator('how many lists the author is in', author => author.listed, [
    'user_in_lists_count',
  ]),
  lang: keyOperator('language', 'the language of the post', {
    keys: ({ lang }) => [languageKey(lang)],
    keyOf: languageKey,
    frequency: 0.05,
    search: true,
    alone: 'not in search',
  }),
  place_country: keyOperator('country', 'the country of the place of the post', {
    keys: ({ place }) => (place === undefined ? [] : [place.countryCode]),
    keyOf: upperCase,
    frequency: 0.01,
    search: true,
  }),
  profile_country: keyOperator('country', "the country of the author's home", {
    keys: ({ author }) => author.homes.map(home => home.countryCode),
    keyOf: upperCase,
    frequency: 0.1,
    search: true,
  }),
  point_radius: positionOperator('radius', 'posts from within a circle', withinRadius, {
    search: true,
  }),
  profile_point_radius: homeOperator(
    'radius',
    'authors whose home is within a circle',
    withinRadius,
  ),
  bounding_box: positionOperator('box', 'posts from within a box', withinBox, {
    search: true,
    aliases: ['geo_bounding_box'],
  }),
  profile_bounding_box: homeOperator('box', 'authors whose home is within a box', withinBox),
  is,
  has,
  sample,
};

/**
 * The syntax and meaning of each operator, by its current name, for example for a reference table.
 *
 * @alias
 */
export const operators: { readonly [Name in OperatorName]: OperatorSpec } = ruleOperators;

export const operatorNames: ReadonlyMap<string, OperatorName> = new Map(
  (Object.keys(operators) as OperatorName[]).flatMap(name =>
    [name, ...operators[name].aliases].map(written => [written, name] as const),
  ),
);

export function isAvailable(name: OperatorName, product: RuleProduct): boolean {
  return product !== 'search' || operators[name].search;
}

export function mayStandAlone(name: OperatorName, product: RuleProduct): boolean {
  const { alone } = operators[name];
  return alone === 'yes' || (alone === 'not in search' && product !== 'search');
}

function namesOf(person: Person | undefined): readonly string[] {
  return person === undefined ? [] : [person.handle, person.id];
}
