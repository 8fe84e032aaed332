import type { Activity } from '../../activity/activity.js';
import { compileRules } from '../../rules/index/compile-rules.js';
import { parseRule } from '../../rules/language/parse-rule.js';
import { compileRule } from '../../rules/match/compile-rule.js';
import type { RuleNode } from '../../rules/tree.js';
import type { Window } from '../../time.js';
import type { Archive } from '../archive/archive.js';
import type { StreamRule } from './stream-rules.js';

/** A post or event within the window of a replay. */
export interface ReplayItem {
  /** Epoch milliseconds. */
  readonly at: number;
  /** Of a post; absent for events. */
  readonly id?: string | undefined;
  /** Absent for a post that the stream leaves out. */
  readonly message: Uint8Array | undefined;
}

/** Blocks in order of time. Items are made lazily, one at a time. */
export type ReplayItems = AsyncIterable<Iterable<ReplayItem>>;

/** The streams of posts, as paths name them. */
export type PostStream = 'rulestream' | 'sample10' | 'firehose' | 'mentions';

/** The posts of a stream in a window. */
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

/** A post from a job's data file still names the rules of that job. */
function withoutRules(activity: Activity): Uint8Array {
  return activity.matchingRules.length === 0 ? activity.raw : activity.withMatchingRules([]).raw;
}

/** For rules that the service itself uses: a customer's rule may not consist of these operators alone. */
function treeOf(rule: string): RuleNode {
  const { tree } = parseRule(rule);
  if (tree === undefined) throw new TypeError(`Not a rule: ${rule}`);
  return tree;
}
