import { required, text } from '../base/check.js';
import type { Job, JobQuote } from '../jobs/job.js';
import { JOB_REQUEST } from '../jobs/job-request.js';
import type { JobVerdict } from '../jobs/job-verdict.js';
import { Call, Code, quoted } from './call-script.js';
import { ACCOUNT, accountCall, type Command, jsonIn, SIGNAL } from './command.js';
import { flagsOf } from './flags.js';
import { rulesIn } from './stored-posts-commands.js';

const REQUEST = flagsOf(JOB_REQUEST, ['title', 'fromDate', 'toDate', 'dataFormat']);
const RULES = flagsOf({
  rules: required(text('the file of the rules: an array of { value, tag }')),
});
const OUT = flagsOf({ out: required(text('the folder for the files')) });

/** A call of one job by its id. */
const callOf = (name: string): Command => ({
  usage: 'JOB',
  build: ({ positionals: [job] }) => accountCall(`jobs.${name}`, job),
});

export const get = callOf('get');
export const reject = callOf('reject');

/** Accepts the quote of a job. */
export const accept: Command = {
  usage: 'JOB',
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

/** Lists the jobs of the account. */
export const list: Command = { build: () => accountCall('jobs.list') };

/** Creates a job, which is not charged before its quote is accepted. */
export const create: Command = {
  flags: [...REQUEST, ...RULES],
  build: ({ options }) => accountCall('jobs.create', requestOf(options)),
};

/** Runs a job to its files, and joins one of the same title and rules. */
export const run: Command = {
  flags: [...REQUEST, ...RULES, ...OUT],
  costs: true,
  build({ options }) {
    const request = { ...requestOf(options), decide: ACCEPTED, onStatus: SHOWN, ...SIGNAL };
    return downloading(new Call('jobs.run', [ACCOUNT, request], 'job'), options(OUT).out);
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

/** Downloads the files of a delivered job. */
export const download: Command = {
  usage: 'JOB',
  flags: OUT,
  build: ({ positionals: [job], options }) => downloading(job, options(OUT).out),
};

const downloading = (job: unknown, folder: unknown) => ({
  call: new Call('jobs.download', [ACCOUNT, job, { folder, ...SIGNAL }]),
  report: (verdict: unknown) => (verdict as JobVerdict).summary,
});

function requestOf(options: (flags: typeof REQUEST) => Record<string, unknown>) {
  const { rules } = options(RULES);
  const read = typeof rules === 'string' ? jsonIn(rules, rulesIn) : undefined;
  return { dataFormat: 'original', ...options(REQUEST), rules: read };
}
