#!/usr/bin/env node
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { didYouMean } from '../base/closest.js';
import { IncompleteError, MillraceError, OptionError } from '../base/errors.js';
import { type Flags, optionsOf, parseFlags } from '../base/flags.js';
import { loadVariables } from '../http/settings.js';
import { print } from '../storage/print.js';
import { Call, type Library, printScript, runScript, type Script } from './call-script.js';
import { allFlags, type Command, SHARED_FLAGS, YES } from './command.js';
import { COMMANDS, completionFor, helpFor, OTHER_COMMANDS, overview, usageOf } from './commands.js';
import { EXIT, exitCodeOf, inFlags } from './exit-codes.js';
import { terminalText } from './terminal-table.js';

const FROM_A_JOB =
  'These minutes have expired, so no later run can fetch them. A job may still have them: millrace job run';
const HELP = ['--help', '-h', 'help'];

const isJson = process.argv.includes('--json');
const interrupted = new AbortController();
const interrupt = () => interrupted.abort(new Error('Interrupted'));
// Prints only the message of a warning, without the process id and Node's hints.
process.removeAllListeners('warning').on('warning', ({ name, message }) => {
  process.stderr.write(`${name === 'RuleWarning' ? '' : `${name}: `}${message}\n`);
});
process.once('SIGINT', interrupt);
// Without this listener, a closed stderr (as in `2>&1 | head`) would end the run.
process.stderr.on('error', () => {});

let running: { readonly name: string; readonly flags: Flags } | undefined;
let functions: readonly string[] = [];

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.exitCode = report(error);
}
// Exits explicitly on an interrupt. Otherwise a write to a pipe that nobody reads would keep the
// process running.
if (interrupted.signal.aborted) process.exit();

async function main(args: readonly string[]): Promise<number> {
  const [first = '--help', second] = args;
  if (first === 'service') {
    await import('../service/cli.js');
    return Number(process.exitCode ?? 0);
  }
  if (first === 'help' && second !== undefined) return main([...args.slice(1), '--help']);
  const text = await textFor(first, second);
  if (text !== undefined) {
    await print(process.stdout, text, 'standard output');
    return 0;
  }
  const isNested = isFamily(first);
  const name = isNested ? `${first} ${second}` : first;
  const listed = COMMANDS[name];
  if (listed === undefined) throw unknownCommand(name);
  return run(name, await listed.load(), args.slice(isNested ? 2 : 1));
}

async function textFor(first: string, second: string | undefined): Promise<string | undefined> {
  if (HELP.includes(first)) return overview();
  if (isFamily(first) && (second === undefined || HELP.includes(second))) return overview(first);
  if (first === 'completion') return completionFor(second);
  if (first !== '--version') return undefined;
  const manifest = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
  return `${(JSON.parse(manifest) as { readonly version: string }).version}\n`;
}

function isFamily(word: string): boolean {
  return Object.keys(COMMANDS).some(name => name.startsWith(`${word} `));
}

async function run(name: string, command: Command, args: readonly string[]): Promise<number> {
  const flags = allFlags(command);
  running = { name, flags };
  const { values, positionals } = parseFlags(`millrace ${name}`, flags, args);
  const shared = optionsOf([...SHARED_FLAGS, ...YES], values);
  if (shared.help === true) {
    await print(process.stdout, helpFor(name, command), 'standard output');
    return 0;
  }
  checkPositionals(name, command, positionals);
  if (typeof shared.envFile === 'string') loadVariables(shared.envFile);
  const script = await command.build({
    positionals,
    options: of => optionsOf(of, values),
    isTerminal: process.stdout.isTTY && !isJson,
  });
  functions = functionsOf(script.call);
  if (shared.printScript === true) {
    await print(process.stdout, printScript(script), 'standard output');
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
  await show(script, script.reported?.(result) ?? result, library);
  return script.isWrong?.(result) ? EXIT.failed : 0;
}

/**
 * Returns the names of the functions that a script calls. Error messages of the library begin with these
 * names.
 */
function functionsOf(value: unknown): readonly string[] {
  if (!(value instanceof Call)) return [];
  return [value.name, ...value.args.flatMap(functionsOf)];
}

function checkPositionals(name: string, command: Command, given: readonly string[]): void {
  const names = command.usage?.split(' ') ?? [];
  const max = names.at(-1)?.endsWith('...') ? Number.POSITIVE_INFINITY : names.length;
  const isShort = given.length < names.filter(one => !one.startsWith('[')).length;
  if (!isShort && given.length <= max) return;
  const problem = isShort ? 'needs another argument' : `has one argument too many: ${given[max]}`;
  throw new OptionError(
    'arguments',
    `millrace ${name} ${problem}. Usage: ${usageOf(name, command)}`,
  );
}

async function confirm(question: string): Promise<true> {
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  // While the question is open, the terminal sends Ctrl+C as a key and not as a signal.
  asking.once('SIGINT', interrupt);
  const answer = await asking.question(`${question} Continue? (y/N) `, interrupted);
  asking.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new Error('Not confirmed: nothing was accepted');
  return true;
}

/**
 * Prints a result. Standard output gets only posts, results and JSON. Descriptions in words are printed to
 * stderr.
 */
async function show(script: Script, result: unknown, library: Library): Promise<void> {
  const { report: words, isOnStdout, table = terminalText } = script;
  if (words === undefined || (isJson && !isOnStdout)) {
    const isForPeople = process.stdout.isTTY && !isJson;
    const items = Array.isArray(result) ? result : [result];
    const text = isForPeople
      ? table(result, library)
      : items.map(item => `${JSON.stringify(item)}\n`).join('');
    return print(process.stdout, text, 'standard output');
  }
  const line = isJson ? JSON.stringify(result) : words(result, library);
  if (line) process.stderr.write(`${line}\n`);
}

function report(error: unknown): number {
  if (interrupted.signal.aborted) {
    process.stderr.write(`Interrupted. ${nextStep()}\n`);
    return EXIT.interrupted;
  }
  const isWrongCall = error instanceof OptionError;
  const isIncomplete = error instanceof IncompleteError;
  const said = error instanceof Error ? error.message : String(error);
  const message = inFlags(said, running?.flags ?? [], functions);
  if (isJson && error instanceof MillraceError) {
    const { code, retryable } = error;
    const missing = isIncomplete ? { missing: error.missing } : {};
    process.stderr.write(
      `${JSON.stringify({ error: { code, message, retryable, ...missing } })}\n`,
    );
  } else {
    process.stderr.write(`${message}\n`);
    const of = running === undefined ? '' : ` ${running.name}`;
    if (isWrongCall) process.stderr.write(`millrace${of} --help shows all flags\n`);
    if (isIncomplete)
      process.stderr.write(`${areExpired(error.missing) ? FROM_A_JOB : nextStep()}\n`);
  }
  return exitCodeOf(error);
}

function areExpired(missing: readonly string[]): boolean {
  return missing.length > 0 && missing.every(one => one.endsWith('(expired)'));
}

function nextStep(): string {
  const args = process.argv.slice(2);
  const again = `millrace ${args.map(quoted).join(' ')}`;
  const has = (flag: string) => args.some(arg => arg === flag || arg.startsWith(`${flag}=`));
  const isKept = has('--checkpoint') || has('--into') || running?.name === 'job run';
  if (isKept) return `To continue: ${again}`;
  const canBeKept = running?.flags.some(({ name }) => name === 'checkpoint') === true;
  if (!canBeKept) return `To start again: ${again}`;
  const out = has('--out') || running?.name === 'write' ? '' : " --out 'out/{day}.jsonl'";
  return `To start again, so that another run can continue: ${again}${out} --checkpoint checkpoint.json`;
}

function unknownCommand(name: string): OptionError {
  const names = [...Object.keys(COMMANDS), ...Object.keys(OTHER_COMMANDS)];
  const [family = ''] = name.split(' ');
  const hint =
    didYouMean(name, names, meant => `millrace ${meant}`) ??
    (isFamily(family) ? `millrace ${family} --help shows its commands` : undefined);
  return new OptionError('arguments', `There is no command ${name}${hint ? `; ${hint}` : ''}`);
}

function quoted(text: string): string {
  return /^[\w./:=@,+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
