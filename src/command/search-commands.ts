import { flag, text, whole } from '../base/check.js';
import { OptionError } from '../base/errors.js';
import { type Flags, flagsOf } from '../base/flags.js';
import { isRecord, withoutUndefined } from '../base/record.js';
import { COUNTS_OPTIONS } from '../search/counts.js';
import type { Preview } from '../search/preview.js';
import type { OptionRows } from '../search/query.js';
import { SEARCH_OPTIONS } from '../search/search.js';
import type { Written } from '../sinks/commit/run-result.js';
import { Call } from './call-script.js';
import {
  ACCOUNT,
  accountCall,
  type Command,
  jsonIn,
  pipelineScript,
  SINK_FLAGS,
  sinkCalls,
} from './command.js';

import { rulesIn } from './stored-posts-commands.js';

/** Creates the flags for a table of options. An option gets a flag if its row has the member `flag`. */
function flagsOfRows(rows: OptionRows): Flags {
  const entries = Object.entries(rows).flatMap(([name, { flag }]) =>
    flag === undefined ? [] : ([[name, flag]] as const),
  );
  return flagsOf(
    rows,
    entries.map(([name]) => name),
    Object.fromEntries(entries),
  );
}

const QUERY = flagsOfRows(SEARCH_OPTIONS);
const RULES = flagsOf(
  { rules: text('a file of rules instead of the query: an array of { value, tag }') },
  undefined,
  { rules: { placeholder: 'rules.json' } },
);
const BUDGET = flagsOf({
  budgetPosts: whole(
    'the maximum number of posts; the run stops before a request that could exceed it',
    { min: 1 },
  ),
  budgetRequests: whole('the maximum number of requests', { min: 1 }),
});
const DRY_RUN = flagsOf({ dryRun: flag('only say how many posts and requests it takes') });

export const searchCommand: Command = {
  usage: '[QUERY]',
  flags: [...QUERY, ...RULES, ...BUDGET, ...SINK_FLAGS, ...DRY_RUN],
  examples: [
    "'snow lang:en' --limit 100",
    "'snow OR rain' --product fullarchive --from 2024-01-01 --to 2024-01-02 --out 'out/{day}.jsonl.gz'",
  ],
  build(given) {
    const { positionals, options } = given;
    const [query] = positionals;
    const { rules } = options(RULES);
    const { budgetPosts: posts, budgetRequests: requests } = options(BUDGET);
    if ((query === undefined) === (rules === undefined))
      throw new OptionError('query', 'millrace search needs a query, or --rules and a file');
    const sinks = sinkCalls(given);
    const budget = withoutUndefined({ posts, requests });
    const asked = {
      ...(typeof rules === 'string' ? { rules: jsonIn(rules, rulesIn) } : { query }),
      ...options(QUERY),
      ...(Object.keys(budget).length > 0 && { budget }),
    };
    if (options(DRY_RUN).dryRun === true)
      return {
        ...accountCall('preview', asked),
        report: result => {
          const { posts, requests } = result as Preview;
          return `${plural(posts, 'post')}, at least ${plural(requests, 'request')}`;
        },
      };
    return pipelineScript([new Call('search', [ACCOUNT, asked]), new Call('dedupe'), ...sinks]);
  },
};

function plural(count: number, unit: string): string {
  return `${count.toLocaleString('en')} ${unit}${count === 1 ? '' : 's'}`;
}

const COUNTS = flagsOfRows(COUNTS_OPTIONS);

export const countsCommand: Command = {
  usage: 'QUERY',
  flags: [...COUNTS, ...SINK_FLAGS],
  examples: ["'snow OR rain' --bucket day", 'snow --from 2026-11-01 --out counts.csv'],
  build(given) {
    const { positionals, options, isTerminal } = given;
    const asked = { query: positionals[0], ...options(COUNTS) };
    const written = sinkCalls(given, { routed: false, table: 'tables.counts' });
    const isChart = isTerminal && options(SINK_FLAGS).out === undefined;
    const sinks = isChart ? [new Call('chart')] : written;
    const script = pipelineScript([new Call('counts', [ACCOUNT, asked]), ...sinks]);
    return { ...script, reported: inRows };
  },
};

/**
 * Renames `posts` to `rows` in the result of a sink. The sink counts each line as a post, but here the lines
 * are counts.
 */
function inRows(result: unknown): unknown {
  if (!isRecord(result) || !('posts' in result)) return result;
  const { posts, files, ...others } = result as unknown as Written;
  const rows = files.map(({ posts: lines, ...file }) => ({ rows: lines, ...file }));
  return { rows: posts, ...others, files: rows };
}
