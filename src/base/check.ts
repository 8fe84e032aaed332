import type { Writable } from 'node:stream';
import { didYouMean } from './closest.js';
import { OptionError } from './errors.js';
import { isRecord } from './record.js';
import { parseDate } from './time.js';
import { MAX_TIMER_MS } from './wait.js';

/**
 * One option of a call: the values it accepts and its default. `T` is the type of the values. `Else` is the
 * type of the default.
 */
export interface Option<T, Else = T | undefined> {
  /** The purpose of the option in a few words, for messages. */
  readonly meaning: string;
  /** Describes the accepted values, for the message "must be ...". */
  readonly expected: string;
  readonly accepts: (value: unknown) => boolean;
  /**
   * Explains what is wrong with a value. If it returns a string, messages use it instead of
   * `expected`.
   */
  readonly explain?: (value: unknown) => string | undefined;
  readonly isRequired: boolean;
  readonly otherwise: Else;
  /** The members of the object, if the value of this option is itself an object of options. */
  readonly members?: Readonly<Record<string, Option<unknown>>>;
  /** A short name for the value, such as `number`, for the help of commands. */
  readonly placeholder?: string;
  /**
   * Converts the text of a command-line flag to a value. Needed only for an option that does not take a
   * string, a number or a list of strings or numbers.
   */
  readonly fromText?: (text: string) => T | undefined;
  readonly isSecret?: boolean;
  /** Never set. It exists only so that the compiler can infer `T`. */
  readonly type?: T;
}

/**
 * The table that describes the options of a call. It has exactly one entry for each member of the type
 * `Options`. Each table ends in `satisfies OptionTable<...>`, so that the compiler compares it with that
 * type.
 */
export type OptionTable<Options> = {
  readonly [Name in keyof Options]-?: Option<Exclude<Options[Name], undefined>> & {
    readonly isRequired: object extends Pick<Options, Name> ? false : true;
  };
};

/** Options that have been checked. An option that has a default is never `undefined`. */
export type Checked<Options, Table> = {
  readonly [Name in keyof Options]-?: Name extends keyof Table
    ? Table[Name] extends { readonly otherwise: undefined }
      ? Options[Name]
      : Exclude<Options[Name], undefined>
    : Options[Name];
};

type Optional<T, Else> = Option<T, Else> & { readonly isRequired: false };
type Required<T> = Option<T, undefined> & { readonly isRequired: true };

export interface Problem {
  readonly option: string;
  readonly text: string;
}

/**
 * Checks the options of a call against its table, before any I/O. Finds unknown names, missing options and
 * invalid values, and reports all of them in one error.
 *
 * @param within The name of the option that holds `given`, if `given` is the value of an option instead of
 *   all options of the call.
 * @returns The options of the table. An option that was not given has its default.
 * @throws OptionError
 */
export function checkOptions<Options extends object, const Table extends OptionTable<Options>>(
  call: string,
  table: Table,
  given: Options,
  within = '',
): Checked<Options, Table> {
  const { checked, problems } = readOptions(call, table, given, within);
  refuseAny(call, problems);
  return checked;
}

/**
 * Reads options like `checkOptions`, but returns the problems instead of throwing them. A caller with further
 * checks adds the problems that it finds, then passes all problems to `refuseAny`, which throws one error.
 *
 * @throws OptionError if the options are not an object.
 */
export function readOptions<Options extends object, const Table extends OptionTable<Options>>(
  call: string,
  table: Table,
  given: Options,
  within = '',
): { readonly checked: Checked<Options, Table>; readonly problems: readonly Problem[] } {
  if (!isRecord(given)) {
    const name = within === '' ? 'options' : within;
    throw new OptionError(name, `${call}: ${mustBe(name, 'an object', given)}`);
  }
  const problems: Problem[] = [];
  const checked = readMembers(table, given, within === '' ? '' : `${within}.`, problems);
  return { checked: checked as Checked<Options, Table>, problems };
}

/** @throws OptionError that lists all problems, if there are any. */
export function refuseAny(call: string, problems: readonly Problem[]): void {
  const [first] = problems;
  if (first === undefined) return;
  throw new OptionError(first.option, problems.map(({ text }) => `${call}: ${text}`).join('\n'));
}

function readMembers(
  table: Readonly<Record<string, Option<unknown>>>,
  given: object,
  prefix: string,
  problems: Problem[],
): Record<string, unknown> {
  for (const name of Object.keys(given))
    if (!Object.hasOwn(table, name)) problems.push(unknownOption(prefix, name, Object.keys(table)));
  const checked: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(table)) {
    const value = (given as Readonly<Record<string, unknown>>)[name];
    const problem = problemOf(prefix + name, option, value);
    if (problem !== undefined) problems.push(problem);
    else if (option.members !== undefined && (value === undefined || isRecord(value)))
      checked[name] = readMembers(option.members, value ?? {}, `${prefix}${name}.`, problems);
    else checked[name] = value === undefined ? option.otherwise : value;
  }
  return checked;
}

/**
 * Checks a single argument that is not an object of options, such as the `count` in `take(count)`.
 *
 * @throws OptionError
 */
export function checkValue<T>(call: string, name: string, option: Option<T>, value: unknown): void {
  const problem = problemOf(name, option, value);
  if (problem !== undefined) throw new OptionError(name, `${call}: ${problem.text}`);
}

export function optionError(
  call: string,
  option: string,
  rest: string,
  details?: { readonly cause?: unknown },
): OptionError {
  return new OptionError(option, `${call}: \`${option}\` ${rest}`, details);
}

function problemOf(name: string, option: Option<unknown>, value: unknown): Problem | undefined {
  if (value === undefined)
    return option.isRequired
      ? { option: name, text: `\`${name}\` is missing: ${option.meaning}` }
      : undefined;
  if (option.accepts(value)) return undefined;
  const explanation = option.explain?.(value);
  if (explanation !== undefined) return { option: name, text: `\`${name}\` ${explanation}` };
  const text = option.isSecret
    ? `\`${name}\` must be ${option.expected}`
    : mustBe(name, option.expected, value);
  return { option: name, text };
}

export function unknownOption(prefix: string, name: string, known: readonly string[]): Problem {
  const hint =
    didYouMean(name, known, meant => `\`${prefix}${meant}\``) ??
    `known are ${known.map(one => `\`${one}\``).join(', ')}`;
  return { option: prefix + name, text: `unknown option \`${prefix}${name}\`; ${hint}` };
}

function mustBe(name: string, expected: string, value: unknown): string {
  return `\`${name}\` must be ${expected}, got ${shownValue(value)}`;
}

/**
 * Shows a value in a message. Long strings are cut, and objects are not shown, because they may hold secrets.
 */
export function shownValue(value: unknown): string {
  if (typeof value === 'string')
    return value.length > 60 ? `${quoted(value.slice(0, 60))}...` : quoted(value);
  if (Array.isArray(value)) return 'an array';
  if (value instanceof Date) return 'an invalid Date';
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'object' && value !== null) return 'an object';
  return typeof value === 'bigint' ? `${value}n` : String(value);
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

export function special<T, Else = undefined>(
  meaning: string,
  expected: string,
  accepts: (value: unknown) => boolean,
  otherwise?: Else,
): Optional<T, Else> {
  return { meaning, expected, accepts, otherwise: otherwise as Else, isRequired: false };
}

export function writable(meaning: string) {
  return special<Writable>(
    meaning,
    'a Node Writable',
    value => typeof (value as Partial<Writable> | null)?.write === 'function',
  );
}

export function required<T, Else>(of: Optional<T, Else>): Required<T> {
  return { ...of, otherwise: undefined, isRequired: true };
}

interface Bounds<Else> {
  readonly min?: number;
  readonly max?: number;
  /** Whether the option also accepts `Infinity`, which means no limit. */
  readonly orInfinity?: boolean;
  readonly default?: Else;
}

export function whole<Else extends number | undefined = undefined>(
  meaning: string,
  { min = 0, max = Number.MAX_SAFE_INTEGER, orInfinity = false, ...rest }: Bounds<Else> = {},
): Optional<number, Else> {
  const span = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  const option = special<number, Else>(
    meaning,
    `a whole number ${span}${orInfinity ? ', or Infinity' : ''}`,
    value =>
      (orInfinity && value === Number.POSITIVE_INFINITY) ||
      (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max),
    rest.default as Else,
  );
  return { ...option, placeholder: 'number' };
}

/** If an object of options has more members than this, messages do not list their names. */
const MAX_LISTED = 8;

/** An option that takes a duration in milliseconds, up to the longest delay of Node's timers. */
export function milliseconds<Else extends number | undefined = undefined>(
  meaning: string,
  { min = 1, max = MAX_TIMER_MS, ...rest }: Bounds<Else> = {},
): Optional<number, Else> {
  return special(
    meaning,
    `milliseconds from ${min} to ${max}`,
    value => typeof value === 'number' && value >= min && value <= max,
    rest.default,
  );
}

export function flag<Else extends boolean | undefined = undefined>(
  meaning: string,
  otherwise?: Else,
): Optional<boolean, Else> {
  return special(meaning, 'true or false', value => typeof value === 'boolean', otherwise);
}

/** An option that takes a non-empty string without control characters or lone surrogates. */
export function text<Else extends string | undefined = undefined>(
  meaning: string,
  otherwise?: Else,
): Optional<string, Else> {
  return special(
    meaning,
    'a string that is not empty, without control characters',
    value => isText(value) && !/[\p{Cc}\p{Surrogate}]/u.test(value),
    otherwise,
  );
}

export function secret<Else extends string | undefined = undefined>(
  meaning: string,
  otherwise?: Else,
): Optional<string, Else> {
  return { ...text(meaning, otherwise), isSecret: true };
}

/** Like `text`, but allows line feeds and tabs. */
export function lines(meaning: string): Optional<string, undefined> {
  return special(
    meaning,
    'a string that is not empty, without lone surrogates',
    value => isText(value) && value.isWellFormed(),
  );
}

export function oneOf<const T, const Else extends T | undefined = undefined>(
  meaning: string,
  values: readonly T[],
  otherwise?: Else,
): Optional<T, Else> {
  const names = values.map(value => (typeof value === 'string' ? quotedOne(value) : String(value)));
  const option = special<T, Else>(
    meaning,
    names.length === 1 ? `${names[0]}` : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`,
    value => values.includes(value as T),
    otherwise as Else,
  );
  return { ...option, placeholder: values.join('|') };
}

export function func<T extends (...args: never[]) => unknown>(
  meaning: string,
): Optional<T, undefined> {
  return special(meaning, 'a function', value => typeof value === 'function');
}

/** An option that takes a UTC time, rounded down to its minute. `parseDate` reads it. */
export function date(meaning: string): Optional<string | Date, undefined> {
  const option = special<string | Date>(
    meaning,
    "a UTC time such as '202401312359', '2024-01-31' or '2024-01-31T23:59:00Z', or a Date",
    value => parseDate(value) !== undefined,
  );
  return { ...option, placeholder: 'YYYY-MM-DD or ISO time' };
}

export function signal(): Optional<AbortSignal, undefined> {
  return special('ends the call', 'an AbortSignal', value => value instanceof AbortSignal);
}

/**
 * An option that takes an object of options. `members` describes them. If the object is missing, its members
 * have their defaults.
 */
export function group<T extends object>(
  meaning: string,
  members: OptionTable<T>,
): Optional<T, undefined> {
  return { ...record<T>(meaning), members };
}

/** An option that takes either the values that `of` accepts, or an object of options as `group` does. */
export function orGroup<T, Else, Members extends object>(
  of: Optional<T, Else>,
  members: OptionTable<Members>,
): Optional<T | Members, undefined> {
  const names = Object.keys(members);
  const listed = names.length > MAX_LISTED ? '' : ` with any of ${names.join(', ')}`;
  return {
    ...of,
    expected: `${of.expected}, or an object${listed}`,
    accepts: value => isRecord(value) || of.accepts(value),
    otherwise: undefined,
    members,
  };
}

export function record<T extends object>(meaning: string): Optional<T, undefined> {
  return special(meaning, 'an object', isRecord);
}

/**
 * An option that takes an object that another call has returned. It recognizes such an object by the listed
 * members.
 */
export function made<T extends object>(
  meaning: string,
  expected: string,
  members: readonly (keyof T & string)[],
): Optional<T, undefined> {
  const accepts = (value: unknown) => isRecord(value) && members.every(member => member in value);
  return special(meaning, expected, accepts);
}

/**
 * An option whose message depends on the value. `explain` returns `must be ...` for a wrong value, and
 * `undefined` for a correct one.
 */
export function explained<T>(
  meaning: string,
  explain: (value: unknown) => string | undefined,
): Optional<T, undefined> {
  const accepts = (value: unknown) => explain(value) === undefined;
  return { ...special<T>(meaning, '', accepts), explain };
}

/** An option that takes the cursor of a batch. The source later checks whether it created that cursor. */
export function cursor<T extends object>(): Optional<T, undefined> {
  return special('where to continue', 'the cursor of a batch or of an error', isRecord);
}

export function cursorError(problem: string, details?: { readonly cause?: unknown }): OptionError {
  return new OptionError(
    'resume',
    `The cursor ${problem}. Leave \`resume\` out, or delete the checkpoint, to start again`,
    details,
  );
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

function quotedOne(value: string): string {
  return `'${value.replaceAll('\r', '\\r').replaceAll('\n', '\\n')}'`;
}
