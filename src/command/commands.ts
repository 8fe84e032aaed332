import type { Command } from './command.js';

/** A command that is loaded when it is used. */
export interface Listed {
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

/** The commands of a file, by the names of its exports. */
function commandsOf<Exports extends object>(load: () => Promise<Exports>) {
  return (name: CommandName<Exports>, summary: string): Listed => ({
    summary,
    load: async () => (await load())[name] as Command,
  });
}

type CommandName<Exports> = {
  [Name in keyof Exports]: Exports[Name] extends Command ? Name : never;
}[keyof Exports];

const searches = commandsOf(() => import('./search-commands.js'));
const streams = commandsOf(() => import('./stream-commands.js'));
const stored = commandsOf(() => import('./stored-posts-commands.js'));
const jobs = commandsOf(() => import('./job-commands.js'));
const rules = commandsOf(() => import('./rules-commands.js'));
const ofAccount = commandsOf(() => import('./account-commands.js'));

/** All commands by name. */
export const COMMANDS: Readonly<Record<string, Listed>> = {
  search: searches('search', 'Posts that match a query'),
  counts: searches('counts', 'How many posts match a query, by time: a chart on a terminal'),
  replay: streams('replay', 'A past window of a stream, by default what its rules match'),
  compliance: streams(
    'compliance',
    'What became of posts: deletions and the like, into tombstones or to stdout',
  ),
  apply: stored(
    'apply',
    'Removes from stored files what recorded compliance events have withdrawn',
  ),
  'job run': jobs(
    'run',
    'Runs a job to its files: creates or joins it, accepts its quote, waits, downloads',
  ),
  'job create': jobs('create', 'Creates a job; it costs nothing before its quote is accepted'),
  'job quote': jobs('get', 'A job: its status, and its quote once there is one'),
  'job accept': jobs('accept', 'Accepts the quote of a job, which costs what it says'),
  'job reject': jobs('reject', 'Rejects the quote of a job'),
  'job list': jobs('list', 'The jobs of the account'),
  'job download': jobs(
    'download',
    'Downloads the files of a delivered job; again, only what is missing',
  ),
  'rules list': rules('list', 'The rules of the replay stream'),
  'rules add': rules('add', 'Adds rules to the replay stream'),
  'rules delete': rules('remove', 'Deletes rules of the replay stream, by value or id'),
  'rules validate': rules('validate', 'Asks the service whether rules are valid'),
  'rules sync': rules('sync', 'Makes the rules of the replay stream equal to a file'),
  'rules check': rules('check', 'Checks a rule without a request, and shows where it is wrong'),
  'rules test': stored(
    'match',
    'Passes on the posts of standard input that a rule matches, as match does',
  ),
  match: stored(
    'match',
    'Passes on the posts of standard input that a rule matches, with their rules',
  ),
  write: stored(
    'write',
    'Writes the posts of standard input into files, such as {tag}/{day}.jsonl.gz',
  ),
  convert: stored('convert', 'Writes stored posts as JSON lines, CSV or Parquet, each once'),
  usage: ofAccount('usage', 'What the account has used, a row for each product and period'),
  engagement: ofAccount(
    'engagement',
    'Likes, retweets and replies of posts of the user whose access token is set',
  ),
};
