import { IncompleteError, OptionError } from '../base/errors.js';
import type { Flags } from '../base/flags.js';

/** The exit codes of `millrace`. 130 is the usual exit code after Ctrl+C. */
export const EXIT = { failed: 1, wrongCall: 2, incomplete: 3, interrupted: 130 } as const;

export function exitCodeOf(error: unknown): number {
  if (error instanceof OptionError) return EXIT.wrongCall;
  return error instanceof IncompleteError ? EXIT.incomplete : EXIT.failed;
}

/** Maps an option of the library to the argument or flag that sets it, if their names differ. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  path: '--out',
  'budget.posts': '--budget-posts',
  'budget.requests': '--budget-requests',
  archiveFolder: 'FOLDER',
  query: 'QUERY',
};

/** Matches the name of an option in a message: `fromDate`, or `toDate: ...` with a value. */
const NAMED = /`([a-z]\w*(?:\.\w+)*)(?:: ([^`]+))?`/g;

/**
 * Converts an error message of the library to a message of the command. Replaces the names of
 * options with flags. Removes advice about options that the command does not have.
 */
export function inFlags(message: string, flags: Flags, functions: readonly string[]): string {
  const names = new Map(flags.map(({ option, name }) => [option, `--${name}`]));
  const flagOf = (option: string) => names.get(option) ?? OTHER_NAMES[option];
  const told = message
    .split('\n')
    .map(line => withoutOthers(withoutStages(inVariables(line)), flagOf).replaceAll(NAMED, toFlag))
    .join('\n');
  const call = new RegExp(`^(?:${functions.join('|')}): `, 'gm');
  return functions.length === 0 ? told : told.replaceAll(call, '');

  function toFlag(text: string, option: string, value: string | undefined): string {
    const flag = flagOf(option);
    return flag === undefined
      ? text
      : value === undefined
        ? flag
        : `${flag} ${value.replaceAll("'", '')}`;
  }
}

/** Rewrites advice to add a stage, because the stages of a command are fixed. */
function withoutStages(line: string): string {
  return line.replace('put gunzip() first', 'decompress them first, as zcat does');
}

/** Rewrites advice about account settings, because a command reads them only from environment variables. */
function inVariables(line: string): string {
  return line
    .replaceAll(/`\w+` \((MILLRACE_\w+)\)/g, '$1')
    .replace(
      /pass (them|it) to account\(\) or set (the variables of the environment)?/i,
      (_, __, all) =>
        all === undefined ? 'set ' : 'Set the variables, or name a file of them by --env-file',
    );
}

/**
 * Shortens a line of an error message: removes each sentence, and each clause after a semicolon, that names
 * an option for which the command has no flag. Always keeps the first clause of the line.
 */
function withoutOthers(line: string, flagOf: (option: string) => string | undefined): string {
  const isKept = (part: string, index: number) =>
    index === 0 || [...part.matchAll(NAMED)].every(([, option = '']) => flagOf(option));
  return line
    .split(/(?<=\.) (?=[A-Z])/)
    .map(sentence => sentence.split('; ').filter(isKept).join('; '))
    .filter(isKept)
    .join(' ')
    .replace(/[;.]$/, '');
}
