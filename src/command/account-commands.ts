import { flagsOf } from '../base/flags.js';
import { USAGE_OPTIONS } from '../usage/usage-report.js';
import { Call, Code, quoted } from './call-script.js';
import { ACCOUNT, type Command, listScript, SIGNAL, SINK_FLAGS } from './command.js';
import { parsedFile } from './stored-posts-commands.js';

const USAGE = flagsOf(USAGE_OPTIONS, ['bucket', 'fromDate', 'toDate'], {
  bucket: { shownDefault: 'month' },
  fromDate: { shownDefault: 'two months ago' },
  toDate: { shownDefault: 'now' },
});

export const usageCommand: Command = {
  flags: [...USAGE, ...SINK_FLAGS],
  examples: ['', '--bucket day --from 2026-11-01 --out usage.csv'],
  build: given =>
    listScript(new Call('usage.rows', [ACCOUNT, given.options(USAGE)]), given, {
      routed: false,
      table: 'tables.usage',
    }),
};

/**
 * `millrace engagement`: gets the engagement totals of posts. The service reports an error for each post that
 * does not belong to the user of the access token.
 */
export const engagementCommand: Command = {
  usage: 'IDS.txt',
  examples: ['ids.txt', 'ids.txt --json'],
  build({ positionals: [file = ''] }) {
    const code = `readFileSync(${quoted(file)}, 'utf8').match(/\\d+/g) ?? []`;
    const ids = new Code(code, () => parsedFile('ids', file, text => text.match(/\d+/g) ?? []));
    return { call: new Call('users.engagementTotals', [ACCOUNT, { ids, ...SIGNAL }]) };
  },
};
