import type { Command } from './command.js';

const stored = () => import('./stored-posts-commands.js');
const streams = () => import('./stream-commands.js');
const jobs = () => import('./job-commands.js');
const rules = () => import('./rules-commands.js');
const ofAccount = () => import('./account-commands.js');

/** A command that is loaded when it is used. */
export interface Listed {
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

/** All commands by name. */
export const COMMANDS: Readonly<Record<string, Listed>> = {
  search: {
    summary: 'Posts that match a query',
    load: async () => (await import('./search-commands.js')).search,
  },
  counts: {
    summary: 'How many posts match a query, by time: a chart on a terminal',
    load: async () => (await import('./search-commands.js')).counts,
  },
  replay: {
    summary: 'A past window of a stream, by default what its rules match',
    load: async () => (await streams()).replay,
  },
  compliance: {
    summary: 'What became of posts: deletions and the like, into tombstones or to stdout',
    load: async () => (await streams()).compliance,
  },
  apply: {
    summary: 'Removes from stored files what recorded compliance events have withdrawn',
    load: async () => (await stored()).apply,
  },
  'job run': {
    summary: 'Runs a job to its files: creates or joins it, accepts its quote, waits, downloads',
    load: async () => (await jobs()).run,
  },
  'job create': {
    summary: 'Creates a job; it costs nothing before its quote is accepted',
    load: async () => (await jobs()).create,
  },
  'job quote': {
    summary: 'A job: its status, and its quote once there is one',
    load: async () => (await jobs()).get,
  },
  'job accept': {
    summary: 'Accepts the quote of a job, which costs what it says',
    load: async () => (await jobs()).accept,
  },
  'job reject': {
    summary: 'Rejects the quote of a job',
    load: async () => (await jobs()).reject,
  },
  'job list': { summary: 'The jobs of the account', load: async () => (await jobs()).list },
  'job download': {
    summary: 'Downloads the files of a delivered job; again, only what is missing',
    load: async () => (await jobs()).download,
  },
  'rules list': {
    summary: 'The rules of the replay stream',
    load: async () => (await rules()).list,
  },
  'rules add': {
    summary: 'Adds rules to the replay stream',
    load: async () => (await rules()).add,
  },
  'rules delete': {
    summary: 'Deletes rules of the replay stream, by value or id',
    load: async () => (await rules()).remove,
  },
  'rules validate': {
    summary: 'Asks the service whether rules are valid',
    load: async () => (await rules()).validate,
  },
  'rules sync': {
    summary: 'Makes the rules of the replay stream equal to a file',
    load: async () => (await rules()).sync,
  },
  'rules check': {
    summary: 'Checks a rule without a request, and shows where it is wrong',
    load: async () => (await rules()).check,
  },
  'rules test': {
    summary: 'Passes on the posts of standard input that a rule matches, as match does',
    load: async () => (await stored()).match,
  },
  match: {
    summary: 'Passes on the posts of standard input that a rule matches, with their rules',
    load: async () => (await stored()).match,
  },
  write: {
    summary: 'Writes the posts of standard input into files, such as {tag}/{day}.jsonl.gz',
    load: async () => (await stored()).write,
  },
  convert: {
    summary: 'Writes stored posts as JSON lines, CSV or Parquet, each once',
    load: async () => (await stored()).convert,
  },
  usage: {
    summary: 'What the account has used, a row for each product and period',
    load: async () => (await ofAccount()).usage,
  },
  engagement: {
    summary: 'Likes, shares and replies of posts of the user whose access token is set',
    load: async () => (await ofAccount()).engagement,
  },
};
