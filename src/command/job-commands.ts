import { required, text } from '../base/check.js';
import { OptionError } from '../base/errors.js';
import { flagsOf } from '../base/flags.js';
import type { Job, JobList, JobQuote } from '../jobs/job.js';
import { JOB_REQUEST } from '../jobs/job-request.js';
import type { JobVerdict } from '../jobs/job-verdict.js';
import { Call, Code, quoted, type Script } from './call-script.js';
import {
  ACCOUNT,
  accountCall,
  type Command,
  type CommandLine,
  jsonIn,
  SHARD,
  SIGNAL,
} from './command.js';
import { rulesIn } from './stored-posts-commands.js';
import { tableText } from './terminal-table.js';

const REQUEST = flagsOf(JOB_REQUEST, ['title', 'fromDate', 'toDate', 'dataFormat'], {
  dataFormat: { fallback: 'original' },
});
const RULES = flagsOf(
  { rules: required(text('the file of the rules: an array of { value, tag }')) },
  undefined,
  { rules: { placeholder: 'rules.json' } },
);
const OUT = flagsOf({ out: required(text('the folder for the files')) }, undefined, {
  out: { placeholder: 'folder' },
});
const WINDOW_EXAMPLE = '--from 2024-01-01 --to 2024-01-02';

const callOf = (name: string): Command => ({
  usage: 'JOB',
  examples: ['qmq1szrz41', 'qmq1szrz41 --json'],
  build: ({ positionals: [job] }) => accountCall(`jobs.${name}`, job),
});

export const getCommand = callOf('get');
export const rejectCommand = callOf('reject');

export const acceptCommand: Command = {
  usage: 'JOB',
  examples: ['qmq1szrz41', 'qmq1szrz41 --yes'],
  costs: true,
  build: ({ positionals: [job = ''] }) =>
    accountCall(
      'jobs.accept',
      new Code(quoted(job), async ({ confirm }) => {
        await confirm(`Job ${job} costs what its quote says, and cannot be stopped.`);
        return job;
      }),
    ),
};

export const listCommand: Command = {
  examples: ['', '--json'],
  build: () => ({
    ...accountCall('jobs.list'),
    table: result => tableText((result as JobList).jobs, LISTED),
  }),
};

const LISTED = ['uuid', 'status', 'percentComplete', 'title', 'fromDate', 'toDate'];

/**
 * Has no `costs`, which marks commands that may cost money: a job is charged only once its quote is accepted.
 */
export const createCommand: Command = {
  flags: [...REQUEST, ...RULES],
  examples: [
    `--title snow ${WINDOW_EXAMPLE} --rules rules.json`,
    `--title snow ${WINDOW_EXAMPLE} --rules rules.json --data-format activity_streams`,
  ],
  build: ({ options }) => accountCall('jobs.create', requestOf(options)),
};

/**
 * `millrace job run`: runs a job until its files can be downloaded. Continues an existing job with the same
 * title and rules.
 */
export const runCommand: Command = {
  flags: [...REQUEST, ...RULES, ...OUT, ...SHARD],
  examples: [
    `--title snow ${WINDOW_EXAMPLE} --rules rules.json --out out/snow`,
    `--title snow ${WINDOW_EXAMPLE} --rules rules.json --out out/snow --yes`,
  ],
  costs: true,
  build({ options }) {
    const request = { ...requestOf(options), decide: ACCEPTED, onStatus: SHOWN, ...SIGNAL };
    return downloading(new Call('jobs.run', [ACCOUNT, request], 'job'), options);
  },
};

const ACCEPTED = new Code('() => true', ({ confirm }) => (quote: JobQuote) => {
  const { costDollars, estimatedActivityCount: posts } = quote;
  const cost = costDollars === undefined ? 'no more than the contract' : `$${costDollars}`;
  return confirm(`The job costs ${cost} for about ${posts} posts, and cannot be stopped.`);
});
const SHOWN = new Code('({ status }) => console.error(status)', () => (job: Job) => {
  const { status, percentComplete } = job;
  process.stderr.write(
    `${status}${percentComplete === undefined ? '' : ` ${percentComplete} %`}\n`,
  );
});

export const downloadCommand: Command = {
  usage: 'JOB',
  flags: [...OUT, ...SHARD],
  examples: ['qmq1szrz41 --out out/snow', 'qmq1szrz41 --out out/snow --quiet'],
  build: ({ positionals: [job], options }) => downloading(job, options),
};

function downloading(job: unknown, options: CommandLine['options']): Script {
  const { out: folder } = options(OUT);
  if (folder === undefined)
    throw new OptionError('out', 'The files of a job need a folder: --out <folder>');
  if (folder === '-')
    throw new OptionError(
      'out',
      '--out - is standard output, and a job has many files: name a folder',
    );
  return {
    call: new Call('jobs.download', [ACCOUNT, job, { folder, ...options(SHARD), ...SIGNAL }]),
    report: verdict => (verdict as JobVerdict).summary,
  };
}

function requestOf(options: (flags: typeof REQUEST) => Record<string, unknown>) {
  const { rules } = options(RULES);
  const read = typeof rules === 'string' ? jsonIn(rules, rulesIn) : undefined;
  return { ...options(REQUEST), rules: read };
}
