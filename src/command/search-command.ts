import { flag } from '../check.js';
import { SEARCH_OPTIONS } from '../search/search.js';
import {
  ACCOUNT,
  type Command,
  pipelineScript,
  SINK_FLAGS,
  sinkCalls,
  WITH_ACCOUNT,
} from './command.js';
import { flagsOf } from './flags.js';
import { Call, type Script } from './script.js';

const QUERY = flagsOf(SEARCH_OPTIONS, [
  'product',
  'fromDate',
  'toDate',
  'incremental',
  'limit',
  'maxResults',
  'slices',
  'tag',
]);
const DRY_RUN = flagsOf({ dryRun: flag('only say how many posts and requests it takes') }, [
  'dryRun',
]);
const DEFAULT_PAGE = 500;

/** Posts that match a query, into files or to standard output. */
export const search: Command = {
  usage: 'QUERY',
  flags: [...QUERY, ...SINK_FLAGS, ...DRY_RUN],
  positionals: { min: 1, max: 1 },
  build({ positionals: [query], options, ...given }) {
    const asked = { query, product: '30day', ...options(QUERY) };
    if (options(DRY_RUN).dryRun === true) return dryRun(asked);
    return pipelineScript(WITH_ACCOUNT, [
      new Call('search', [ACCOUNT, asked]),
      new Call('dedupe', []),
      ...sinkCalls({ positionals: [], options, ...given }),
    ]);
  },
};

function dryRun(asked: Readonly<Record<string, unknown>>): Script {
  const { query, product, fromDate, toDate, maxResults = DEFAULT_PAGE } = asked;
  const counted = { query, product, bucket: 'day', fromDate, toDate };
  const stages = [new Call('counts', [ACCOUNT, counted]), new Call('collect', [])];
  return pipelineScript(WITH_ACCOUNT, stages, buckets => {
    let posts = 0;
    for (const { count } of buckets as readonly { readonly count: number }[]) posts += count;
    const requests = Math.max(1, Math.ceil(posts / Number(maxResults)));
    return `${plural(posts, 'post')}, at least ${plural(requests, 'request')}`;
  });
}

function plural(count: number, unit: string): string {
  return `${count.toLocaleString('en')} ${unit}${count === 1 ? '' : 's'}`;
}
