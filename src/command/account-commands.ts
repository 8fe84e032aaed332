import { USAGE_OPTIONS } from '../usage/usage-report.js';
import { Call, Code, quoted } from './call-script.js';
import { ACCOUNT, type Command, pipelineScript, SIGNAL, SINK_FLAGS, sinkCalls } from './command.js';
import { flagsOf } from './flags.js';
import { parsedFile } from './stored-posts-commands.js';

const USAGE = flagsOf(USAGE_OPTIONS, ['bucket', 'fromDate', 'toDate']);

/** What the account has used, as rows. */
export const usage: Command = {
  flags: [...USAGE, ...SINK_FLAGS],
  build: given =>
    pipelineScript([
      new Call('usage.rows', [ACCOUNT, given.options(USAGE)]),
      ...sinkCalls(given, { routed: false, table: 'tables.usage' }),
    ]),
};

/** Likes, shares and replies of posts of the user of the access token. */
export const engagement: Command = {
  usage: 'IDS.txt',
  build({ positionals: [file = ''] }) {
    const code = `readFileSync(${quoted(file)}, 'utf8').match(/\\d+/g) ?? []`;
    const ids = new Code(code, () => parsedFile('ids', file, text => text.match(/\d+/g) ?? []));
    return { call: new Call('users.engagementTotals', [ACCOUNT, { ids, ...SIGNAL }]) };
  },
};
