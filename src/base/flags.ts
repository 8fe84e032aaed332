import { type ParseArgsConfig, parseArgs } from 'node:util';
import type { Option } from './check.js';
import { didYouMean } from './closest.js';
import { OptionError } from './errors.js';

/**
 * A flag of a command. Most flags set an option of the library and have its name in kebab-case. The other
 * flags exist only on the command line.
 */
export interface Flag {
  readonly name: string;
  readonly option: string;
  readonly described: Option<unknown>;
  readonly isSwitch: boolean;
  readonly isRepeated: boolean;
  readonly placeholder: string;
  readonly read: (given: FlagValue) => unknown;
  readonly fallback: unknown;
  readonly shownDefault: string | undefined;
}

export type Flags = readonly Flag[];

/** The string given for a flag, `true` for a switch, or a list for a repeated flag. */
export type FlagValue = string | true | readonly string[];

/** What the command line adds to an entry in the table of options, to define the flag of that option. */
export interface FlagDetails {
  /** @default the name of the option in kebab-case */
  readonly name?: string;
  readonly placeholder?: string;
  /** The value that is passed to the library if the flag is not given. */
  readonly fallback?: unknown;
  /** The default as text for the help. Needed if the table of options does not contain the default. */
  readonly shownDefault?: string;
  readonly isRepeated?: boolean;
  /**
   * The factor from the unit of the flag to the unit of the option, such as 1,000 for a flag in seconds and
   * an option in milliseconds.
   */
  readonly unit?: number;
}

export function flagsOf<Table extends Readonly<Record<string, Option<unknown>>>>(
  table: Table,
  options: readonly (keyof Table & string)[] = Object.keys(table),
  details: { readonly [Name in keyof Table]?: FlagDetails } = {},
): Flags {
  return options.map(option => flagOf(option, table[option] as Option<unknown>, details[option]));
}

function flagOf(option: string, described: Option<unknown>, details: FlagDetails = {}): Flag {
  const { unit = 1, fallback, isRepeated = false, name = kebab(option) } = details;
  const otherwise = fallback ?? described.otherwise;
  const isSwitch = described.accepts(true);
  const { placeholder = described.placeholder ?? 'text' } = details;
  const { shownDefault = described.isSecret ? undefined : shownOf(otherwise, unit) } = details;
  return {
    ...{ name, option, described, isSwitch, isRepeated, fallback, shownDefault },
    placeholder: isSwitch ? '' : `<${placeholder}>`,
    read(given) {
      // A switch sets the opposite of the option's default.
      if (given === true) return described.otherwise !== true;
      return typeof given === 'string' ? optionValue(described, given, unit) : given;
    },
  };
}

function shownOf(value: unknown, unit: number): string | undefined {
  if (typeof value === 'number' && Number.isFinite(value)) return String(value / unit);
  return typeof value === 'string' ? value : undefined;
}

const SHORT: Readonly<Record<string, string>> = { from: 'from-date', to: 'to-date', h: 'help' };

export interface ParsedArguments {
  readonly values: Readonly<Record<string, FlagValue>>;
  readonly positionals: readonly string[];
}

/**
 * Reads the arguments of a command.
 *
 * @param command The name of the command in messages.
 * @throws OptionError for an unknown flag, for a flag that is given twice, and for a flag without its value.
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
  const values: Record<string, FlagValue> = {};
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
    else if (found.isRepeated && value !== undefined)
      values[name] = [...listOf(values[name]), value];
    else if (values[name] !== undefined) refuse(`--${name} is given twice`);
    else values[name] = value ?? true;
  }
  return { values, positionals };
}

/**
 * Reads the options of a command that takes only flags and no positional arguments.
 *
 * @throws OptionError for the same reasons as `parseFlags`, and for a positional argument.
 */
export function readFlags(
  command: string,
  flags: Flags,
  args: readonly string[],
): Record<string, unknown> {
  const { values, positionals } = parseFlags(command, flags, args);
  const [first] = positionals;
  if (first !== undefined)
    throw new OptionError('arguments', `${command}: takes no argument, got ${first}`);
  return optionsOf(flags, values);
}

function listOf(value: FlagValue | undefined): readonly string[] {
  return typeof value === 'object' ? value : [];
}

function hintFor(name: string, isShort: boolean, flags: Flags): string {
  if (isShort) return '. Put -- before an argument that begins with -';
  const known = new Set(flags.map(flag => flag.name));
  const short = Object.keys(SHORT).filter(from => from.length > 1 && known.has(SHORT[from] ?? ''));
  const hint = didYouMean(name, [...known, ...short], meant => `--${meant}`);
  return hint === undefined ? '' : `; ${hint}`;
}

/** Whether the value is itself the name of a flag, like `--quiet` in `--out --quiet`. */
function isFlag(
  { value, inlineValue }: { value?: string | undefined; inlineValue?: boolean | undefined },
  flags: Flags,
): boolean {
  const [, name] = /^--([\w-]+)/.exec(value ?? '') ?? [];
  const known = flags.map(flag => flag.name);
  return inlineValue !== true && name !== undefined && known.includes(SHORT[name] ?? name);
}

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

export function optionsOf(
  flags: Flags,
  values: Readonly<Record<string, FlagValue | undefined>>,
): Record<string, unknown> {
  return Object.fromEntries(
    flags.flatMap(({ name, option, read, fallback }) => {
      const given = values[name];
      const value = given === undefined ? fallback : read(given);
      return value === undefined ? [] : [[option, value]];
    }),
  );
}

/**
 * The greatest width of the left column of the help, which shows the flags. The description of a longer flag
 * starts further to the right.
 */
const MAX_LEFT = 42;

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
 * Converts the text of a flag to the value of its option. Tries these forms in order: the string, the result
 * of `fromText`, a number, a list of strings, a list of numbers. If the option accepts none of them, returns
 * the text, or the converted number for a flag with a unit. The check of the option then reports it.
 */
function optionValue(option: Option<unknown>, text: string, unit: number): unknown {
  const list = text.split(',').map(part => part.trim());
  const number = numberOf(text);
  const inUnit = typeof number === 'number' ? number * unit : number;
  const forms = [text, option.fromText?.(text), inUnit, list, list.map(numberOf)];
  return (
    forms.find(form => form !== undefined && option.accepts(form)) ?? (unit === 1 ? text : inUnit)
  );
}

function numberOf(text: string): unknown {
  return text.trim() !== '' && !Number.isNaN(Number(text)) ? Number(text) : text;
}

function kebab(name: string): string {
  return name.replaceAll(/[A-Z]/g, '-$&').toLowerCase();
}
