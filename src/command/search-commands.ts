import { flag, text, whole } from '../base/check.js';
import { OptionError } from '../base/errors.js';
import { withoutUndefined } from '../base/without-undefined.js';
import { COUNTS_OPTIONS } from '../search/counts.js';
import type { Preview } from '../search/preview.js';
import { SEARCH_OPTIONS } from '../search/search.js';
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
import { flagsOf } from './flags.js';
import { rulesIn } from './stored-posts-commands.js';

const QUERY = flagsOf(SEARCH_OPTIONS, [
  ...(['product', 'fromDate', 'toDate', 'incremental', 'limit'] as const),
  ...(['maxResults', 'slices', 'tag'] as const),
]);
const OWN = flagsOf({
  rules: text('a file of rules in place of the query: an array of { value, tag }'),
  budgetPosts: whole('ends before the request that could fetch more posts', { min: 1 }),
  budgetRequests: whole('ends before more requests than these', { min: 1 }),
});
const DRY_RUN = flagsOf({ dryRun: flag('only say how many posts and requests it takes') });

/** Posts that match a query, or many rules, into files or to standard output. */
export const search: Command = {
  usage: '[QUERY]',
  flags: [...QUERY, ...OWN, ...SINK_FLAGS, ...DRY_RUN],
  build(given) {
    const { positionals, options } = given;
    const [query] = positionals;
    const { rules, budgetPosts: posts, budgetRequests: requests } = options(OWN);
    if ((query === undefined) === (rules === undefined))
      throw new OptionError('query', 'millrace search needs a query, or --rules and a file');
    const budget = withoutUndefined({ posts, requests });
    const asked = {
      ...(typeof rules === 'string' ? { rules: jsonIn(rules, rulesIn) } : { query }),
      product: '30day',
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
    return pipelineScript([
      new Call('search', [ACCOUNT, asked]),
      new Call('dedupe'),
      ...sinkCalls(given),
    ]);
  },
};

function plural(count: number, unit: string): string {
  return `${count.toLocaleString('en')} ${unit}${count === 1 ? '' : 's'}`;
}

const COUNTS = flagsOf(COUNTS_OPTIONS, ['product', 'fromDate', 'toDate', 'incremental', 'bucket']);

/** How many posts match a query, by time: a chart on a terminal. */
export const counts: Command = {
  usage: 'QUERY',
  flags: [...COUNTS, ...SINK_FLAGS],
  build(given) {
    const { positionals, options, isTerminal } = given;
    const asked = { query: positionals[0], product: '30day', ...options(COUNTS) };
    const isChart = isTerminal && options(SINK_FLAGS).out === undefined;
    const sinks = isChart
      ? [new Call('chart')]
      : sinkCalls(given, { routed: false, table: 'tables.counts' });
    return pipelineScript([new Call('counts', [ACCOUNT, asked]), ...sinks]);
  },
};
