import { allFlags, type Command } from './command.js';
import { COMMANDS } from './commands.js';
import { type Flags, helpOf, SHARED_FLAGS } from './flags.js';

/** Words that are not commands of the table. */
export const OTHER_COMMANDS = {
  service: 'The whole service on this machine, as millrace-service',
  completion: 'Completion of commands and flags for bash or zsh',
};

const NAME_WIDTH = 16;

/** The help of the command itself, or of the commands of a family such as `job`. */
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
Of all commands:
${helpOf(SHARED_FLAGS)}
millrace ${first}${second} --help shows its flags. The account's settings are variables such as MILLRACE_URL: a local
service prints all of them, see millrace service --help.
`;
}

/** The help of one command. */
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
