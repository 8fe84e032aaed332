import { COUNTS_OPTIONS } from '../search/counts.js';
import {
  ACCOUNT,
  type Command,
  pipelineScript,
  SINK_FLAGS,
  sinkCalls,
  WITH_ACCOUNT,
} from './command.js';
import { flagsOf } from './flags.js';
import { Call } from './script.js';

const QUERY = flagsOf(COUNTS_OPTIONS, ['product', 'fromDate', 'toDate', 'incremental', 'bucket']);

/** How many posts match a query, by time: a chart on a terminal. */
export const counts: Command = {
  usage: 'QUERY',
  flags: [...QUERY, ...SINK_FLAGS],
  positionals: { min: 1, max: 1 },
  build(given) {
    const { positionals, options, isTerminal } = given;
    const asked = { query: positionals[0], product: '30day', ...options(QUERY) };
    const isChart = isTerminal && options(SINK_FLAGS).out === undefined;
    const sinks = isChart
      ? [new Call('chart', [])]
      : sinkCalls(given, { routed: false, table: 'tables.counts' });
    const stages = [new Call('counts', [ACCOUNT, asked]), ...sinks];
    return pipelineScript(WITH_ACCOUNT, stages);
  },
};
