#!/usr/bin/env node
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { didYouMean } from '../base/closest.js';
import { IncompleteError, MillraceError, OptionError } from '../base/errors.js';
import { loadVariables } from '../http/env-file.js';
import { type Library, printScript, runScript, type Script } from './call-script.js';
import type { Command } from './command.js';
import { COMMANDS } from './commands.js';
import { completionFor } from './completion.js';
import { helpOf, optionsOf, parseConfig, SHARED_FLAGS } from './flags.js';

const EXIT = { failed: 1, wrongCall: 2, incomplete: 3, interrupted: 130 };

const isJson = process.argv.includes('--json');
const interrupted = new AbortController();
// As words, without the number of the process and flags of Node.
process.removeAllListeners('warning').on('warning', ({ name, message }) => {
  process.stderr.write(`${name === 'RuleWarning' ? '' : `${name}: `}${message}\n`);
});
process.once('SIGINT', () => interrupted.abort(new Error('Interrupted')));

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.exitCode = report(error);
}

async function main(args: readonly string[]): Promise<number> {
  const [first = '--help', second] = args;
  if (first === '--help' || first === 'help') {
    process.stdout.write(overview());
    return 0;
  }
  if (first === '--version') {
    const manifest = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
    process.stdout.write(`${(JSON.parse(manifest) as { readonly version: string }).version}\n`);
    return 0;
  }
  if (first === 'completion') {
    process.stdout.write(await completionFor(second));
    return 0;
  }
  if (first === 'service') {
    process.argv.splice(2, 1);
    await import('../service/cli.js');
    return Number(process.exitCode ?? 0);
  }
  const isNested = Object.keys(COMMANDS).some(name => name.startsWith(`${first} `));
  const name = isNested ? `${first} ${second ?? ''}`.trim() : first;
  const listed = COMMANDS[name];
  if (listed === undefined) throw unknownCommand(name, isNested ? first : undefined);
  return run(name, await listed.load(), args.slice(isNested ? 2 : 1));
}

async function run(name: string, command: Command, args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(command, args);
  const shared = optionsOf(SHARED_FLAGS, values);
  if (shared.help === true) {
    process.stdout.write(helpFor(name, command));
    return 0;
  }
  checkPositionals(name, command, positionals);
  if (typeof shared.envFile === 'string') loadVariables(shared.envFile);
  const script = await command.build({
    positionals,
    options: flags => optionsOf(flags, values),
    isTerminal: process.stdout.isTTY,
  });
  if (shared.printScript === true) {
    process.stdout.write(printScript(script));
    return 0;
  }
  const isConfirmed = shared.yes === true;
  if (command.costs && !isConfirmed && !process.stdin.isTTY)
    throw new OptionError('yes', `millrace ${name} may cost money: confirm it with --yes`);
  const library = (await import('../index.js')) as Library;
  const progress = shared.quiet === true ? 'off' : 'auto';
  const result = await runScript(script, {
    library,
    progress,
    signal: interrupted.signal,
    confirm: isConfirmed ? async () => true : confirm,
  });
  show(script, result, library);
  return script.isWrong?.(result) ? EXIT.failed : 0;
}

function parse(command: Command, args: readonly string[]) {
  const flags = [...(command.flags ?? []), ...SHARED_FLAGS];
  try {
    return parseArgs({
      args: args.map(inFull),
      options: parseConfig(flags),
      allowPositionals: true,
    });
  } catch (error) {
    const { message } = error as Error;
    const [, unknown] = /^Unknown option '--?([^']+)'/.exec(message) ?? [];
    const names = flags.map(({ name }) => name);
    const hint = unknown && didYouMean(unknown, names, meant => `--${meant}`);
    throw new OptionError('arguments', hint ? `${message.split('.')[0]}; ${hint}` : message, {
      cause: error,
    });
  }
}

/** `--from` and `--to` are short for the dates. */
function inFull(arg: string): string {
  return arg.replace(/^--(from|to)(?=$|=)/, '--$1-date');
}

function checkPositionals(name: string, command: Command, given: readonly string[]): void {
  const names = command.usage?.split(' ') ?? [];
  const max = names.at(-1)?.endsWith('...') ? Number.POSITIVE_INFINITY : names.length;
  const isShort = given.length < names.filter(one => !one.startsWith('[')).length;
  if (!isShort && given.length <= max) return;
  const problem = isShort ? 'lacks an argument' : `has one argument too many: ${given[max]}`;
  throw new OptionError(
    'arguments',
    `millrace ${name} ${problem}. Usage: ${usageOf(name, command)}`,
  );
}

/** Asks on a terminal. */
async function confirm(question: string): Promise<true> {
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await asking.question(`${question} Go on? (y/N) `, interrupted);
  asking.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new Error('Not confirmed: nothing was accepted');
  return true;
}

/** Standard output has posts or JSON, and nothing else: words go to stderr. */
function show({ report, isOnStdout }: Script, result: unknown, library: Library): void {
  if (report === undefined || (isJson && !isOnStdout)) {
    for (const item of Array.isArray(result) ? result : [result])
      process.stdout.write(`${JSON.stringify(item)}\n`);
    return;
  }
  const line = isJson ? JSON.stringify(result) : report(result, library);
  if (line) process.stderr.write(`${line}\n`);
}

function report(error: unknown): number {
  if (interrupted.signal.aborted) {
    process.stderr.write(`Interrupted. ${nextStep()}\n`);
    return EXIT.interrupted;
  }
  const isWrongCall = error instanceof OptionError;
  const isIncomplete = error instanceof IncompleteError;
  const message = error instanceof Error ? error.message : String(error);
  if (isJson && error instanceof MillraceError) {
    const { code, retryable } = error;
    const missing = isIncomplete ? { missing: error.missing } : {};
    process.stderr.write(
      `${JSON.stringify({ error: { code, message, retryable, ...missing } })}\n`,
    );
  } else {
    process.stderr.write(`${message}\n`);
    if (isWrongCall) process.stderr.write('Run with --help to see all options\n');
    if (isIncomplete) process.stderr.write(`${nextStep()}\n`);
  }
  return isWrongCall ? EXIT.wrongCall : isIncomplete ? EXIT.incomplete : EXIT.failed;
}

/** The command that goes on after an incomplete run. */
function nextStep(): string {
  const args = process.argv.slice(2);
  const again = `millrace ${args.map(quoted).join(' ')}`;
  const isKept = args.some(arg => arg.startsWith('--checkpoint'));
  return isKept
    ? `To go on: ${again}`
    : `To begin again, so that another run can go on: ${again} --checkpoint checkpoint.json`;
}

function unknownCommand(name: string, family: string | undefined): OptionError {
  const names = [...Object.keys(COMMANDS), 'service', 'completion'];
  if (family !== undefined && name === family) {
    const of = names.filter(one => one.startsWith(`${family} `)).join(', ');
    return new OptionError('arguments', `millrace ${family} needs one of: ${of}`);
  }
  const hint = didYouMean(name, names, meant => `millrace ${meant}`);
  return new OptionError('arguments', `There is no command ${name}${hint ? `; ${hint}` : ''}`);
}

function overview(): string {
  const lines = Object.entries(COMMANDS).map(
    ([name, { summary }]) => `  ${name.padEnd(16)} ${summary}\n`,
  );
  return `Usage: millrace COMMAND [options]

${lines.join('')}  ${'service'.padEnd(16)} The whole service on this machine, as millrace-service
  ${'completion'.padEnd(16)} What bash or zsh need to complete commands and flags

Of all commands:
${helpOf(SHARED_FLAGS)}
millrace COMMAND --help shows its own. The account's settings are variables such as MILLRACE_URL.
`;
}

function helpFor(name: string, command: Command): string {
  const shared = SHARED_FLAGS.filter(({ name: of }) => of !== 'yes' || command.costs);
  return `Usage: ${usageOf(name, command)}

${COMMANDS[name]?.summary}.

${helpOf(command.flags ?? [])}
Also: ${shared.map(({ name }) => `--${name}`).join(' ')} (see millrace --help)
`;
}

function usageOf(name: string, { usage = '' }: Command): string {
  return ['millrace', name, usage, '[options]'].filter(part => part !== '').join(' ');
}

/** An argument as a shell takes it. */
function quoted(text: string): string {
  return /^[\w./:=@,+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
