import { type ParseArgsConfig, parseArgs } from 'node:util';
import type { Option } from './check.js';
import { didYouMean } from './closest.js';
import { OptionError } from './errors.js';

/** A flag of a command: an option by its name in kebab-case, or one of the command itself. */
export interface Flag {
  readonly name: string;
  /** The name of the option. */
  readonly option: string;
  readonly described: Option<unknown>;
  /** Whether it takes no value. */
  readonly isSwitch: boolean;
  /** Whether it may be repeated. */
  readonly isRepeated: boolean;
  /** A value in a few words, for the help. */
  readonly placeholder: string;
  /** The value of the option that the flag gives. */
  readonly read: (given: FlagValue) => unknown;
  /** What the command passes to the library if the flag is not given. */
  readonly fallback: unknown;
  /** The default, as the help shows it. */
  readonly shownDefault: string | undefined;
}

export type Flags = readonly Flag[];

/** The text of a flag, `true` for a switch, a list for one that is repeated. */
export type FlagValue = string | true | readonly string[];

/** What a command knows of a flag that the table of options does not say. */
export interface FlagDetails {
  /** @default the option in kebab-case */
  readonly name?: string;
  readonly placeholder?: string;
  /** Passed to the library if the flag is not given. */
  readonly fallback?: unknown;
  /** A default that the library or the service has, in words. */
  readonly shownDefault?: string;
  /** Whether the flag may be repeated, for an option that takes a list. */
  readonly isRepeated?: boolean;
  /** How many of the option's unit are one of the flag's, such as 1,000 for milliseconds as seconds. */
  readonly unit?: number;
}

/** The flags of options of a table, by default of all. */
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
      // A switch turns off what is on by default.
      if (given === true) return described.otherwise !== true;
      return typeof given === 'string' ? optionValue(described, given, unit) : given;
    },
  };
}

function shownOf(value: unknown, unit: number): string | undefined {
  if (typeof value === 'number' && Number.isFinite(value)) return String(value / unit);
  return typeof value === 'string' ? value : undefined;
}

/** Short names of flags. */
const SHORT: Readonly<Record<string, string>> = { from: 'from-date', to: 'to-date', h: 'help' };

/** What a command was called with. */
export interface ParsedArguments {
  /** The values by flag name. */
  readonly values: Readonly<Record<string, FlagValue>>;
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
 * The options of a command that takes flags and nothing else.
 *
 * @throws OptionError as `parseFlags`, and for an argument.
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

/** True if the value is itself a flag, as `--quiet` is in `--out --quiet`. */
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
 * Reads the value of an option from its text: a string, what the option reads from the text, a number, or a list of strings or
 * numbers, whichever the option accepts. If it accepts none of these, returns the text, so that the check of the
 * option reports it.
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
