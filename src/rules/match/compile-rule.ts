import type { Activity } from '../../activity/activity.js';
import { fieldsOf, type Person, type Position } from '../../activity/post-fields.js';
import {
  checkOptions,
  checkValue,
  type OptionTable,
  oneOf,
  record,
  required,
} from '../../check.js';
import { PostTerms, sourceKey } from '../index/post-terms.js';
import { RULE_PRODUCTS, type RuleProduct } from '../language/operators.js';
import type { Clause, CountRange, OperatorClause, RuleNode } from '../language/tree.js';
import { type Dialect, dialectOf } from './dialect.js';
import { withinBox, withinRadius } from './geo.js';
import { holdsPhrase, holdsProximity, phraseOf, wordsOf } from './phrase.js';
import { fold } from './tokeniser.js';

/** Whether a rule, or a part of one, matches a post. */
export type Matches = (post: PostTerms) => boolean;

export interface CompileRuleOptions {
  /**
   * Whose matching to follow. Search takes punctuation in phrases for white space, treats accented
   * letters as plain ones and does not look into quoted posts; historical jobs and replay do the
   * opposite. @default 'historical'
   */
  readonly product?: RuleProduct | undefined;
}

export const COMPILE_OPTIONS = {
  product: oneOf('whose matching to follow', RULE_PRODUCTS, 'historical'),
} satisfies OptionTable<CompileRuleOptions>;

const TREE = required(record<RuleNode>('the tree of an accepted rule, as `rules.parse` gives it'));

/**
 * A test of activities of either format: whether the rule matches. This is what the language means;
 * `rules.compileAll` gives the same answers for many rules at once.
 *
 * @example
 * const { tree } = rules.parse('snow (has:images OR from:karl)');
 * if (tree !== undefined) activities.filter(rules.compile(tree, { product: 'search' }));
 */
export function compileRule(
  tree: RuleNode,
  options: CompileRuleOptions = {},
): (activity: Activity) => boolean {
  checkValue('rules.compile', 'tree', TREE, tree);
  const { product } = checkOptions('rules.compile', COMPILE_OPTIONS, options);
  const dialect = dialectOf(product);
  const matches = compileTree(tree, dialect);
  return activity => matches(readPost(activity, dialect));
}

let last: { readonly activity: Activity; readonly post: PostTerms } | undefined;

/** Several rules are often asked about the same post, one after the other. */
function readPost(activity: Activity, dialect: Dialect): PostTerms {
  if (last?.activity !== activity || last.post.dialect !== dialect)
    last = { activity, post: new PostTerms(fieldsOf(activity), dialect) };
  return last.post;
}

export function compileTree(node: RuleNode, dialect: Dialect): Matches {
  switch (node.kind) {
    case 'and': {
      const all = node.nodes.map(child => compileTree(child, dialect));
      return post => all.every(matches => matches(post));
    }
    case 'or': {
      const any = node.nodes.map(child => compileTree(child, dialect));
      return post => any.some(matches => matches(post));
    }
    case 'not': {
      const matches = compileTree(node.node, dialect);
      return post => !matches(post);
    }
    default:
      return compileClause(node, dialect);
  }
}

export function compileClause(clause: Clause, dialect: Dialect): Matches {
  switch (clause.kind) {
    case 'keyword': {
      const words = wordsOf(clause.text, dialect);
      const phrase = words.words.length > 0 ? words : phraseOf(clause.text, dialect);
      return ({ texts, addresses, displays }) =>
        [texts, addresses, displays].some(all => all.some(tokens => holdsPhrase(tokens, phrase)));
    }
    case 'phrase': {
      const phrase = phraseOf(clause.text, dialect);
      return ({ texts }) => texts.some(tokens => holdsPhrase(tokens, phrase));
    }
    case 'proximity': {
      const { words } = wordsOf(clause.text, dialect);
      return ({ texts }) =>
        texts.some(tokens => holdsProximity(tokens.words, words, clause.distance));
    }
    case 'hashtag': {
      const tag = fold(clause.text, dialect.accents);
      return ({ parts }) =>
        parts.some(part => part.hashtags.some(other => fold(other, dialect.accents) === tag));
    }
    case 'cashtag': {
      const symbol = fold(clause.text, dialect.accents);
      return ({ parts }) =>
        parts.some(part => part.cashtags.some(other => fold(other, dialect.accents) === symbol));
    }
    case 'mention': {
      const isThem = isPerson(clause.text);
      return ({ parts }) => parts.some(part => part.mentions.some(isThem));
    }
    case 'operator':
      return compileOperator(clause, dialect);
  }
}

function compileOperator(clause: OperatorClause, dialect: Dialect): Matches {
  switch (clause.name) {
    case 'contains': {
      const part = fold(clause.value, dialect.accents);
      // Its own text only: a quoted post's is for words and phrases.
      return ({ texts }) => texts[0]?.folded.includes(part) === true;
    }
    case 'url': {
      const phrase = wordsOf(clause.value, dialect);
      return ({ addresses }) => addresses.some(tokens => holdsPhrase(tokens, phrase));
    }
    case 'url_contains': {
      const part = fold(clause.value, dialect.accents);
      return ({ addresses }) => addresses.some(({ folded }) => folded.includes(part));
    }
    case 'bio':
    case 'bio_name':
    case 'bio_location':
    case 'place':
    case 'profile_region':
    case 'profile_locality':
    case 'profile_subregion':
    case 'url_title':
    case 'url_description': {
      const phrase = phraseOf(clause.value, dialect);
      return post => post.field(clause.name).some(tokens => holdsPhrase(tokens, phrase));
    }
    case 'from': {
      const isThem = isPerson(clause.value);
      return ({ fields }) => isThem(fields.author);
    }
    case 'to': {
      const isThem = isPerson(clause.value);
      return ({ fields }) => fields.replyTo !== undefined && isThem(fields.replyTo);
    }
    case 'retweets_of': {
      const isThem = isPerson(clause.value);
      return ({ fields }) => fields.retweeted !== undefined && isThem(fields.retweeted.author);
    }
    case 'retweets_of_status_id':
      return ({ fields }) => fields.retweeted?.id === clause.value;
    case 'in_reply_to_status_id':
      return ({ fields }) => fields.repliedId === clause.value;
    case 'source': {
      const source = sourceKey(clause.value, dialect);
      return ({ fields: { source: application } }) =>
        sourceKey(application.name, dialect) === source ||
        sourceKey(application.link, dialect) === source;
    }
    case 'lang': {
      const lang = clause.value.toLowerCase();
      return ({ fields }) => fields.lang === lang;
    }
    case 'place_country': {
      const country = clause.value.toUpperCase();
      return ({ fields }) => fields.place?.countryCode === country;
    }
    case 'profile_country': {
      const country = clause.value.toUpperCase();
      return ({ fields }) => fields.author.homes.some(home => home.countryCode === country);
    }
    case 'is':
      return post => post.is(clause.value);
    case 'has':
      return post => post.has(clause.value);
    case 'statuses_count':
      return ({ fields }) => within(clause.value, fields.author.statuses);
    case 'followers_count':
      return ({ fields }) => within(clause.value, fields.author.followers);
    case 'friends_count':
      return ({ fields }) => within(clause.value, fields.author.friends);
    case 'listed_count':
      return ({ fields }) => within(clause.value, fields.author.listed);
    case 'point_radius':
      return standsIn(withinRadius(clause.value));
    case 'bounding_box':
      return standsIn(withinBox(clause.value));
    case 'profile_point_radius':
      return livesIn(withinRadius(clause.value));
    case 'profile_bounding_box':
      return livesIn(withinBox(clause.value));
    case 'sample':
      return ({ fields }) => sampleOf(fields.id) < clause.value;
  }
}

/** By handle or id. */
function isPerson(text: string): (person: Person) => boolean {
  const wanted = text.toLowerCase();
  return ({ handle, id }) => handle === wanted || id === wanted;
}

function within({ min, max = Number.POSITIVE_INFINITY }: CountRange, count: number): boolean {
  return count >= min && count <= max;
}

/** By its exact position, or by a place that lies in the area with all its corners. */
function standsIn(inArea: (position: Position) => boolean): Matches {
  return ({ fields: { position, place } }) =>
    (position !== undefined && inArea(position)) ||
    (place !== undefined && place.corners.length > 0 && place.corners.every(inArea));
}

function livesIn(inArea: (position: Position) => boolean): Matches {
  return ({ fields }) =>
    fields.author.homes.some(({ position }) => position !== undefined && inArea(position));
}

/** Which hundredth of all posts a post is in: the same whenever and wherever it is asked. */
function sampleOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return ((hash ^ (hash >>> 13)) >>> 0) % 100;
}
