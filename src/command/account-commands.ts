import { readFileSync } from 'node:fs';
import { OptionError } from '../errors.js';
import { USAGE_OPTIONS } from '../usage/usage-report.js';
import { Call, Code, quoted } from './call-script.js';
import {
  ACCOUNT,
  type Command,
  pipelineScript,
  SIGNAL,
  SINK_FLAGS,
  sinkCalls,
  WITH_ACCOUNT,
} from './command.js';
import { flagsOf } from './flags.js';

const USAGE = flagsOf(USAGE_OPTIONS, ['bucket', 'fromDate', 'toDate']);

/** What the account has used, as rows. */
export const usage: Command = {
  usage: '',
  flags: [...USAGE, ...SINK_FLAGS],
  build: given =>
    pipelineScript(WITH_ACCOUNT, [
      new Call('usage.rows', [ACCOUNT, given.options(USAGE)]),
      ...sinkCalls(given, { routed: false, table: 'tables.usage' }),
    ]),
};

/** Likes, shares and replies of posts of the user of the access token. */
export const engagement: Command = {
  usage: 'IDS.txt',
  flags: [],
  positionals: { min: 1, max: 1 },
  build: ({ positionals: [file = ''] }) => ({
    constants: WITH_ACCOUNT,
    call: new Call('users.engagementTotals', [
      ACCOUNT,
      {
        ids: new Code(`readFileSync(${quoted(file)}, 'utf8').match(/\\d+/g) ?? []`, () =>
          idsIn(file),
        ),
        ...SIGNAL,
      },
    ]),
  }),
};

function idsIn(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').match(/\d+/g) ?? [];
  } catch (error) {
    throw new OptionError('ids', `Could not read the ids of ${file}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
