import { parse, test } from 'liqe';
import lucene from 'lucene';
import luceneFilter from 'lucene-filter';
import { type Activity, rules } from 'millrace';
import sift from 'sift';
import type { BenchRule, Condition } from './workload.js';

/**
 * A post in the form that the general-purpose matchers need: lower-case text with a space before
 * and after each word.
 */
export interface Document {
  readonly word: string;
  readonly hashtag: string;
  readonly from: string;
  readonly mention: string;
  readonly lang: string;
  readonly links: string;
  readonly original: string;
}

export type Matcher<Post> = (post: Post) => number[];

export function toDocument(activity: Activity): Document {
  const post = activity.post as unknown as RawPost;
  const content = post.retweeted_status ?? post;
  const entities = content.extended_tweet?.entities ?? content.entities;
  const mentions = [...post.entities.user_mentions, ...entities.user_mentions];
  const between = (words: readonly string[]) => ` ${words.join(' ').toLowerCase()} `;
  return {
    word: between((content.extended_tweet?.full_text ?? content.text).match(/\w+/g) ?? []),
    hashtag: between(entities.hashtags.map(tag => tag.text)),
    from: between([post.user.screen_name]),
    mention: between(mentions.map(mention => mention.screen_name)),
    lang: between([post.lang]),
    links: between([entities.urls.length > 0 ? 'yes' : 'no']),
    original: between([post.retweeted_status === undefined ? 'yes' : 'no']),
  };
}

interface RawPost {
  readonly text: string;
  readonly lang: string;
  readonly entities: RawEntities;
  readonly user: { readonly screen_name: string };
  readonly extended_tweet?: { readonly full_text: string; readonly entities: RawEntities };
  readonly retweeted_status?: RawPost;
}

interface RawEntities {
  readonly hashtags: readonly { readonly text: string }[];
  readonly user_mentions: readonly { readonly screen_name: string }[];
  readonly urls: readonly object[];
}

export function ruleText(rule: BenchRule): string {
  return joined(rule, ' ', ({ kind, text }) => {
    switch (kind) {
      case 'word':
        return text;
      case 'phrase':
        return `"${text}"`;
      case 'hashtag':
        return `#${text}`;
      case 'mention':
        return `@${text}`;
      case 'links':
        return 'has:links';
      case 'original':
        return '-is:retweet';
      default:
        return `${kind}:${text}`;
    }
  });
}

export function indexed(benchRules: readonly BenchRule[]): Matcher<Activity> {
  const matcher = rules.compileAll(
    benchRules.map((rule, i) => ({ value: ruleText(rule), id: String(i) })),
  );
  return post => matcher.match(post).map(({ id }) => Number(id));
}

export function oneByOne(benchRules: readonly BenchRule[]): Matcher<Activity> {
  return loop(
    benchRules.map(rule => {
      const { tree } = rules.parse(ruleText(rule));
      if (tree === undefined) throw new Error(`Not a rule: ${ruleText(rule)}`);
      return rules.compile(tree);
    }),
  );
}

export function liqe(rules: readonly BenchRule[]): Matcher<Document> {
  return loop(
    rules.map(rule => {
      const query = parse(queryText(rule));
      return post => test(query, post);
    }),
  );
}

export function luceneFiltered(rules: readonly BenchRule[]): Matcher<Document> {
  const compile = luceneFilter(lucene);
  return loop(
    rules.map(rule => {
      const score = compile(queryText(rule));
      return post => score(post) > 0;
    }),
  );
}

export function sifted(rules: readonly BenchRule[]): Matcher<Document> {
  return loop(
    rules.map(rule =>
      sift.default({
        $and: rule.map(group => ({
          $or: group.map(({ kind, text }) => ({
            [fieldOf(kind)]: new RegExp(` ${text} `),
          })),
        })),
      }),
    ),
  );
}

function loop<Post>(tests: readonly ((post: Post) => boolean)[]): Matcher<Post> {
  return post => {
    const found: number[] = [];
    for (let i = 0; i < tests.length; i++) if (tests[i]?.(post)) found.push(i);
    return found;
  };
}

/** Returns the rule in Lucene's syntax, which liqe also accepts. */
function queryText(rule: BenchRule): string {
  return joined(rule, ' AND ', ({ kind, text }) => `${fieldOf(kind)}:" ${text} "`);
}

function joined(rule: BenchRule, and: string, print: (condition: Condition) => string): string {
  const groups = rule.map(group => {
    const any = group.map(print).join(' OR ');
    return group.length > 1 && rule.length > 1 ? `(${any})` : any;
  });
  return groups.join(and);
}

function fieldOf(kind: Condition['kind']): keyof Document {
  return kind === 'phrase' ? 'word' : kind;
}
