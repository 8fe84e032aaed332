import { text } from '../base/check.js';
import { COMPLIANCE_OPTIONS } from '../compliance/compliance.js';
import { REPLAY_OPTIONS } from '../replay/replay.js';
import { Call } from './call-script.js';
import { ACCOUNT, type Command, pipelineScript, SINK_FLAGS, sinkCalls } from './command.js';
import { flagsOf } from './flags.js';
import { openedTombstones } from './stored-posts-commands.js';

const REPLAY = flagsOf(REPLAY_OPTIONS, [
  'streamType',
  'fromDate',
  'toDate',
  'incremental',
  'streamLabel',
  'folder',
]);
const COMPLIANCE = flagsOf(COMPLIANCE_OPTIONS, [
  'until',
  'partitions',
  'fromDate',
  'complianceLabel',
  'folder',
]);
const INTO = flagsOf({ into: text('the folder of the tombstones') });

/** A past window of a stream, into files or to standard output. */
export const replay: Command = {
  flags: [...REPLAY, ...SINK_FLAGS],
  build: given =>
    pipelineScript([
      new Call('replay', [ACCOUNT, { streamType: 'rulestream', ...given.options(REPLAY) }]),
      new Call('dedupe'),
      ...sinkCalls(given),
    ]),
};

/** Compliance events, into tombstones or to standard output. */
export const compliance: Command = {
  flags: [...COMPLIANCE, ...INTO],
  build({ options }) {
    const { into } = options(INTO);
    const events = new Call('compliance', [ACCOUNT, options(COMPLIANCE)]);
    if (into === undefined) return pipelineScript([events, new Call('stdout')]);
    return pipelineScript(
      [events, new Call('intoTombstones', [openedTombstones(into)])],
      result => `${(result as { readonly events: number }).events} events in ${into}`,
    );
  },
};
