import type { ParseArgsConfig } from 'node:util';
import { flag, type Option, text } from '../base/check.js';

/** A flag of a command: an option of the library by its name in kebab-case, or one of the command itself. */
export interface Flag {
  readonly name: string;
  /** The name of the option. */
  readonly option: string;
  readonly described: Option<unknown>;
  /** Whether it takes no text. */
  readonly isSwitch: boolean;
}

export type Flags = readonly Flag[];

/** The flags of options of a table, by default of all. */
export function flagsOf<Table extends Readonly<Record<string, Option<unknown>>>>(
  table: Table,
  options: readonly (keyof Table & string)[] = Object.keys(table),
): Flags {
  return options.map(option => {
    const described = table[option] as Option<unknown>;
    return { name: kebab(option), option, described, isSwitch: described.accepts(true) };
  });
}

/** The flags in the form of `parseArgs`. */
export function parseConfig(flags: Flags): NonNullable<ParseArgsConfig['options']> {
  return Object.fromEntries(
    flags.map(({ name, isSwitch }) => [name, { type: isSwitch ? 'boolean' : 'string' }]),
  );
}

/** The options that the values of `parseArgs` give, of these flags. */
export function optionsOf(
  flags: Flags,
  values: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(
    flags
      .filter(({ name }) => values[name] !== undefined)
      .map(({ option, described, name }) => [option, optionValue(described, values[name])]),
  );
}

/** A line of help for each flag. */
export function helpOf(flags: Flags): string {
  return flags
    .map(({ name, described: { meaning, expected, otherwise }, isSwitch }) => {
      const choices = /^'/.test(expected) ? `: ${expected.replaceAll("'", '')}` : '';
      const isShown = typeof otherwise === 'string' || Number.isFinite(otherwise);
      const left = `--${name}${isSwitch ? '' : ' ...'}`.padEnd(22);
      return `  ${left} ${meaning}${choices}${isShown ? ` (${otherwise})` : ''}\n`;
    })
    .join('');
}

/**
 * The value of an option from its text: the text itself, a number, a list of texts or of numbers, whichever the option
 * accepts. Text that it accepts in no form stays as it is, so that the check of the option reports it.
 */
function optionValue(option: Option<unknown>, given: unknown): unknown {
  if (typeof given !== 'string') return given;
  const list = given.split(',').map(part => part.trim());
  const forms = [given, numberOf(given), list, list.map(numberOf)];
  return forms.find(form => option.accepts(form)) ?? given;
}

function numberOf(text: string): unknown {
  return text.trim() !== '' && !Number.isNaN(Number(text)) ? Number(text) : text;
}

function kebab(name: string): string {
  return name.replaceAll(/[A-Z]/g, '-$&').toLowerCase();
}

/** Flags of every command. They are here, so that the help of all commands loads nothing of the library's. */
export const SHARED_FLAGS: Flags = flagsOf({
  envFile: text('a file of variables, such as MILLRACE_URL'),
  printScript: flag('print the script that does the same, and run nothing'),
  json: flag('report results and errors as JSON'),
  quiet: flag('show no progress'),
  yes: flag('accept what it costs, without a question'),
  help: flag('print this'),
});
