import { type ParseArgsConfig, parseArgs } from 'node:util';
import { flag, type Option, text } from '../base/check.js';
import { didYouMean } from '../base/closest.js';
import { OptionError } from '../base/errors.js';

/** A flag of a command: an option of the library by its name in kebab-case, or one of the command itself. */
export interface Flag {
  readonly name: string;
  /** The name of the option. */
  readonly option: string;
  readonly described: Option<unknown>;
  /** Whether it takes no value. */
  readonly isSwitch: boolean;
  /** A value in a few words, for the help. */
  readonly placeholder: string;
  /** What the command passes to the library if the flag is not given. */
  readonly fallback: unknown;
  /** The default, as the help shows it. */
  readonly shownDefault: string | undefined;
}

export type Flags = readonly Flag[];

/** What a command knows of a flag that the table of options does not say. */
export interface FlagDetails {
  readonly placeholder?: string;
  /** Passed to the library if the flag is not given. */
  readonly fallback?: unknown;
  /** A default that the library or the service has, in words. */
  readonly shownDefault?: string;
}

/** The flags of options of a table, by default of all. */
export function flagsOf<Table extends Readonly<Record<string, Option<unknown>>>>(
  table: Table,
  options: readonly (keyof Table & string)[] = Object.keys(table),
  details: { readonly [Name in keyof Table]?: FlagDetails } = {},
): Flags {
  return options.map(option => {
    const described = table[option] as Option<unknown>;
    const {
      placeholder = described.placeholder ?? 'text',
      fallback,
      shownDefault = shownOf(fallback ?? described.otherwise),
    } = details[option] ?? {};
    const isSwitch = described.accepts(true);
    return {
      ...{ name: kebab(option), option, described, isSwitch, fallback, shownDefault },
      placeholder: isSwitch ? '' : `<${placeholder}>`,
    };
  });
}

function shownOf(value: unknown): string | undefined {
  return typeof value === 'string' || Number.isFinite(value) ? String(value) : undefined;
}

/** Short names of flags. */
const SHORT: Readonly<Record<string, string>> = { from: 'from-date', to: 'to-date', h: 'help' };

/** What a command was called with: the text of each flag, or `true` for a switch, and the other arguments. */
export interface ParsedArguments {
  readonly values: Readonly<Record<string, string | boolean>>;
  readonly positionals: readonly string[];
}

/**
 * Reads the arguments of a command.
 *
 * @param command The command as messages name it.
 * @throws OptionError for a flag that the command does not have, that comes twice, or whose value is missing.
 */
export function parseFlags(
  command: string,
  flags: Flags,
  args: readonly string[],
): ParsedArguments {
  const { tokens } = parseArgs({
    ...{ args: [...args], options: parseConfig(flags), strict: false },
    ...{ allowPositionals: true, tokens: true },
  });
  const values: Record<string, string | boolean> = {};
  const positionals: string[] = [];
  const refuse = (problem: string) => {
    throw new OptionError('arguments', `${command}: ${problem}`);
  };
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    const { value } = token;
    const name = SHORT[token.name] ?? token.name;
    const found = flags.find(flag => flag.name === name);
    const isShort = !token.rawName.startsWith('--');
    if (found === undefined || (isShort && token.name !== 'h')) {
      const given = isShort ? args[token.index] : token.rawName;
      refuse(`there is no flag ${given}${hintFor(token.name, isShort, flags)}`);
    } else if (found.isSwitch && value !== undefined) refuse(`--${name} takes no value`);
    else if (!found.isSwitch && (value === undefined || isFlag(token, flags)))
      refuse(`--${name} needs a value, --${name} ${found.placeholder}`);
    else if (values[name] !== undefined) refuse(`--${name} is given twice`);
    else values[name] = value ?? true;
  }
  return { values, positionals };
}

function hintFor(name: string, isShort: boolean, flags: Flags): string {
  if (isShort) return '. Put -- before an argument that begins with -';
  const names = [...flags.map(flag => flag.name), ...Object.keys(SHORT)].filter(
    known => known.length > 1,
  );
  const hint = didYouMean(name, names, meant => `--${meant}`);
  return hint === undefined ? '' : `; ${hint}`;
}

/** Whether the value of `--out --quiet` is a flag of its own. */
function isFlag(
  { value, inlineValue }: { value?: string | undefined; inlineValue?: boolean | undefined },
  flags: Flags,
): boolean {
  const [, name] = /^--([\w-]+)/.exec(value ?? '') ?? [];
  const known = flags.map(flag => flag.name);
  return inlineValue !== true && name !== undefined && known.includes(SHORT[name] ?? name);
}

/** The flags in the form of `parseArgs`. */
function parseConfig(flags: Flags): NonNullable<ParseArgsConfig['options']> {
  const types = new Map(
    flags.map(({ name, isSwitch }) => [name, isSwitch ? 'boolean' : 'string'] as const),
  );
  const short = Object.entries(SHORT).flatMap(([name, full]) => {
    const type = types.get(full);
    return type === undefined || name.length === 1 ? [] : ([[name, { type }]] as const);
  });
  return Object.fromEntries([...[...types].map(([name, type]) => [name, { type }]), ...short]);
}

/** The options that these values of flags give. */
export function optionsOf(
  flags: Flags,
  values: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(
    flags
      .map(flag => [flag, values[flag.name] ?? flag.fallback] as const)
      .filter(([, value]) => value !== undefined)
      .map(([{ option, described }, value]) => [option, optionValue(described, value)]),
  );
}

/** The widest column of flags: one that is longer moves its own meaning. */
const MAX_LEFT = 42;

/** A line of help for each flag. */
export function helpOf(flags: Flags): string {
  const left = flags.map(({ name, placeholder }) => `--${name} ${placeholder}`);
  const width = Math.min(MAX_LEFT, Math.max(...left.map(words => words.length)));
  return flags
    .map(({ described, shownDefault }, index) => {
      const after = described.isRequired && shownDefault === undefined ? ' (required)' : '';
      const otherwise = shownDefault === undefined ? after : ` (default ${shownDefault})`;
      return `  ${left[index]?.padEnd(width)}  ${described.meaning}${otherwise}\n`;
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
export const SHARED_FLAGS: Flags = flagsOf(
  {
    envFile: text('a file of variables, such as MILLRACE_URL'),
    printScript: flag('print the script that does the same, and run nothing'),
    json: flag('report results and errors as JSON'),
    quiet: flag('show no progress'),
    help: flag('print this, as -h does'),
  },
  undefined,
  { envFile: { placeholder: 'file' } },
);

/** The flag of commands that may cost money. */
export const YES: Flags = flagsOf({ yes: flag('accept what it costs, without a question') });
