import type { Activity } from '../../activity/activity.js';
import { compileRules } from '../../rules/index/compile-rules.js';
import { parseRule } from '../../rules/language/parse-rule.js';
import { compileRule } from '../../rules/match/compile-rule.js';
import type { RuleNode } from '../../rules/tree.js';
import type { Window } from '../../time.js';
import type { Archive } from '../archive/archive.js';
import type { StreamRule } from './stream-rules.js';

/** What a replay comes to, one after the other. */
export interface ReplayItem {
  /** Epoch milliseconds. */
  readonly at: number;
  /** Of a post. */
  readonly id?: string | undefined;
  /** Nothing where the stream has no use for it. */
  readonly message: Uint8Array | undefined;
}

/** Blocks in order of time; what is in them is made as it is taken. */
export type ReplayItems = AsyncIterable<Iterable<ReplayItem>>;

/** The streams of posts; their names in paths (service.md 4.3). */
export type PostStream = 'rulestream' | 'sample10' | 'firehose' | 'mentions';

/** The posts that a stream had in a window. */
export async function* replayedPosts(
  archive: Archive,
  window: Window,
  stream: PostStream,
  rules: readonly StreamRule[],
  signal: AbortSignal,
): AsyncGenerator<Iterable<ReplayItem>> {
  const message = messageOf(stream, rules);
  for await (const { posts } of archive.scan(window, { signal }))
    yield (function* () {
      for (const { at, id, activity } of posts) yield { at, id, message: message(activity) };
    })();
}

type MessageOf = (activity: Activity) => Uint8Array | undefined;

function messageOf(stream: PostStream, rules: readonly StreamRule[]): MessageOf {
  if (stream === 'rulestream') {
    const matcher = compileRules(rules, { product: 'replay' });
    return activity => {
      const matches = matcher.match(activity);
      return matches.length === 0 ? undefined : activity.withMatchingRules(matches).raw;
    };
  }
  if (stream === 'firehose') return withoutRules;
  const matches = compileRule(treeOf(stream === 'sample10' ? 'sample:10' : 'has:mentions'), {
    product: 'replay',
  });
  return activity => (matches(activity) ? withoutRules(activity) : undefined);
}

/** A post that came from a file may have the rules of the job that delivered it. */
function withoutRules(activity: Activity): Uint8Array {
  return activity.matchingRules.length === 0 ? activity.raw : activity.withMatchingRules([]).raw;
}

/** Not for rules of users: these may not stand alone. */
function treeOf(rule: string): RuleNode {
  const { tree } = parseRule(rule);
  if (tree === undefined) throw new TypeError(`Not a rule: ${rule}`);
  return tree;
}
