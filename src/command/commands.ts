import { OptionError } from '../base/errors.js';
import { type Flags, helpOf } from '../base/flags.js';
import { allFlags, type Command, SHARED_FLAGS } from './command.js';

export interface Listed {
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

/**
 * Returns a function that creates the list entry for a command. `load` imports the module of the command.
 * That module exports, for example, the command `search` as `searchCommand`.
 */
function commandsOf<Exports extends object>(load: () => Promise<Exports>) {
  return (name: CommandName<Exports>, summary: string): Listed => ({
    summary,
    load: async () => (await load())[`${name}Command` as keyof Exports] as Command,
  });
}

type CommandName<Exports> = {
  [Name in keyof Exports]: Name extends `${infer Short}Command` ? Short : never;
}[keyof Exports];

const searches = commandsOf(() => import('./search-commands.js'));
const streams = commandsOf(() => import('./stream-commands.js'));
const stored = commandsOf(() => import('./stored-posts-commands.js'));
const jobs = commandsOf(() => import('./job-commands.js'));
const rules = commandsOf(() => import('./rules-commands.js'));
const ofAccount = commandsOf(() => import('./account-commands.js'));

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

/** Words that the program accepts instead of a command in `COMMANDS`. */
export const OTHER_COMMANDS = {
  service: 'The whole service on this machine, as millrace-service',
  completion: 'Completion of commands and flags for bash or zsh',
};

const NAME_WIDTH = 16;

export function overview(family?: string): string {
  const of = Object.entries(COMMANDS).filter(
    ([name]) => family === undefined || name.startsWith(`${family} `),
  );
  const others = family === undefined ? Object.entries(OTHER_COMMANDS) : [];
  const lines = [...of.map(([name, { summary }]) => [name, summary] as const), ...others].map(
    ([name, summary]) => `  ${name.padEnd(NAME_WIDTH)} ${summary}\n`,
  );
  const [first, second] = family === undefined ? ['COMMAND', ''] : [family, ' COMMAND'];
  return `Usage: millrace ${first}${second} [flags]

${lines.join('')}
Flags of all commands:
${helpOf(SHARED_FLAGS)}
millrace ${first}${second} --help shows its flags. The settings of the account come from variables such as MILLRACE_URL: a local
service prints all of them, see millrace service --help.
`;
}

export function helpFor(name: string, command: Command): string {
  const own = allFlags(command).filter(flag => !SHARED_FLAGS.includes(flag));
  const examples = command.examples.map(example => `  millrace ${name} ${example}`.trimEnd());
  return `Usage: ${usageOf(name, command)}
${COMMANDS[name]?.summary}.
${helpOf(own)}  ${namesOf(SHARED_FLAGS)}: see millrace --help
${examples.join('\n')}
`;
}

const namesOf = (flags: Flags) => flags.map(({ name }) => `--${name}`).join(' ');

export function usageOf(name: string, { usage = '' }: Command): string {
  return ['millrace', name, usage, '[flags]'].filter(part => part !== '').join(' ');
}

const COMPLETION_USAGE = `Usage: millrace completion bash|zsh

Prints what the shell needs to complete commands and flags:

  eval "$(millrace completion bash)"
  millrace completion zsh >> ~/.zshrc
`;

/**
 * Returns shell code that sets up the completion of commands and flags: `eval "$(millrace completion bash)"`.
 *
 * @throws OptionError for a shell other than bash and zsh.
 */
export async function completionFor(shell: string | undefined): Promise<string> {
  if (shell === '--help' || shell === '-h') return COMPLETION_USAGE;
  if (shell !== 'bash' && shell !== 'zsh')
    throw new OptionError('arguments', 'millrace completion needs the shell: bash or zsh');
  const names = Object.keys(COMMANDS).map(name => name.split(' '));
  const first = [...new Set(names.map(([word]) => word)), 'service', 'completion'];
  const nested = names.filter(words => words.length > 1);
  const families = [...new Set(nested.map(([word]) => word))];
  const cases = await Promise.all(
    Object.entries(COMMANDS).map(async ([name, { load }]) => {
      const words = allFlags(await load()).map(flag => flag.name);
      return `    '${name}') words='${words.map(word => `--${word}`).join(' ')}' ;;\n`;
    }),
  );
  const seconds = [...nested, ['service', 'check']];
  const second = [...families, 'service'].map(family => {
    const words = seconds.filter(([word]) => word === family).map(([, word]) => word);
    return `    '${family}') [ "$COMP_CWORD" -eq 2 ] && words='${words.join(' ')}' ;;\n`;
  });
  return `${shell === 'zsh' ? 'autoload -U +X bashcompinit && bashcompinit\n' : ''}_millrace() {
  local words='' name="\${COMP_WORDS[1]}"
  case "$name" in
${second.join('')}  esac
  case "$name" in
    ${families.join('|')}) name="$name \${COMP_WORDS[2]}" ;;
  esac
  [ "$COMP_CWORD" -eq 1 ] && words='${first.join(' ')}'
  [ -z "$words" ] && case "$name" in
${cases.join('')}  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _millrace millrace
`;
}
