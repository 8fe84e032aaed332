import { text } from '../base/check.js';
import { flagsOf } from '../base/flags.js';
import { COMPLIANCE_OPTIONS } from '../compliance/compliance.js';
import { REPLAY_OPTIONS } from '../replay/replay.js';
import { Call } from './call-script.js';
import { ACCOUNT, type Command, pipelineScript, SINK_FLAGS, sinkCalls } from './command.js';
import { openedTombstones } from './stored-posts-commands.js';

const LABEL = { placeholder: 'label', shownDefault: "the account's" };
const FOLDER = { placeholder: 'folder', shownDefault: 'the system temporary folder' };
const REPLAY = flagsOf(
  REPLAY_OPTIONS,
  ['streamType', 'fromDate', 'toDate', 'incremental', 'shard', 'streamLabel', 'folder'],
  {
    streamType: { fallback: 'rulestream' },
    shard: { shownDefault: 'all' },
    streamLabel: LABEL,
    folder: FOLDER,
  },
);
const COMPLIANCE = flagsOf(
  COMPLIANCE_OPTIONS,
  ['until', 'partitions', 'fromDate', 'complianceLabel', 'folder'],
  {
    until: { placeholder: "'caught up'", shownDefault: 'Ctrl+C' },
    partitions: { placeholder: '1,2,...', shownDefault: 'one connection without a partition' },
    fromDate: { shownDefault: 'now' },
    complianceLabel: LABEL,
    folder: FOLDER,
  },
);
const INTO = flagsOf({ into: text('the folder of the tombstones') }, undefined, {
  into: { placeholder: 'folder', shownDefault: 'stdout, as JSON lines' },
});

export const replayCommand: Command = {
  flags: [...REPLAY, ...SINK_FLAGS],
  examples: [
    '--from 2026-11-26T10:00Z --to 2026-11-26T11:00Z',
    "--from 2026-11-26 --incremental --out 'out/{day}.jsonl.gz' --checkpoint out/checkpoint.json",
  ],
  build: given =>
    pipelineScript([
      new Call('replay', [ACCOUNT, given.options(REPLAY)]),
      new Call('dedupe'),
      ...sinkCalls(given),
    ]),
};

export const complianceCommand: Command = {
  flags: [...COMPLIANCE, ...INTO],
  examples: ["--into tombstones --until 'caught up'", '--partitions 1,2 > events.jsonl'],
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
