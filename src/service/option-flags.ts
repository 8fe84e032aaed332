import type { ParseArgsConfig } from 'node:util';
import type { Option } from '../check.js';
import { SECOND } from '../time.js';

/**
 * How the text of a flag becomes the value of its option: `seconds` are converted to
 * milliseconds, `list` may be repeated, `true` and `false` take no text.
 */
type FlagKind = 'text' | 'number' | 'seconds' | 'list' | 'true' | 'false';

export interface Flag {
  /** Without the dashes: `heartbeat-seconds`. */
  readonly name: string;
  /** The placeholder for the text in the help: `N`, `FOLDER`. */
  readonly placeholder: string;
  readonly kind: FlagKind;
}

/** An option that may also have a flag of the command line. */
export type FlagOption = Option<unknown> & { readonly flag?: Flag };

/** The options of a call, some of which are flags. */
export type FlagTable = Readonly<Record<string, FlagOption>>;

/** The same option, with a flag of the command line. A placeholder `N` means a number. */
export function withFlag<O extends object>(
  option: O,
  name: string,
  placeholder = '',
  kind: FlagKind = placeholder === 'N' ? 'number' : 'text',
): O & { readonly flag: Flag } {
  return { ...option, flag: { name, placeholder, kind } };
}

type FlagConfig = NonNullable<ParseArgsConfig['options']>;

/** The flags in the form of `parseArgs`. */
export function flagConfig(table: FlagTable): FlagConfig {
  const flags = Object.values(table).flatMap(({ flag }) => flag ?? []);
  return Object.fromEntries(
    flags.map(({ name, kind }) => [
      name,
      {
        type: kind === 'true' || kind === 'false' ? ('boolean' as const) : ('string' as const),
        multiple: kind === 'list',
      },
    ]),
  );
}

/** The options that are given by flags. */
export function optionsFromFlags(
  table: FlagTable,
  values: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const options: Record<string, unknown> = {};
  for (const [name, { flag }] of Object.entries(table))
    if (flag !== undefined && values[flag.name] !== undefined)
      options[name] = optionValue(flag.kind, values[flag.name]);
  return options;
}

/** A line of help for each flag. */
export function flagHelp(table: FlagTable): string {
  return Object.values(table)
    .flatMap(({ flag, meaning, otherwise, isSecret }) => {
      if (flag === undefined) return [];
      const left = `--${flag.name} ${flag.placeholder}`.trimEnd().padEnd(33);
      const isShown =
        isSecret !== true && (typeof otherwise === 'string' || Number.isFinite(otherwise));
      return `  ${left} ${meaning}${isShown ? ` (default ${flag.kind === 'seconds' ? Number(otherwise) / SECOND : otherwise})` : ''}\n`;
    })
    .join('');
}

function optionValue(kind: FlagKind, value: unknown): unknown {
  if (kind === 'true' || kind === 'false') return kind === 'true';
  if (kind === 'number') return numberOf(value);
  if (kind !== 'seconds') return value;
  const seconds = numberOf(value);
  return typeof seconds === 'number' ? seconds * SECOND : seconds;
}

/** Text that is not a number stays text, so that the check of the option reports it. */
function numberOf(text: unknown): unknown {
  const isNumber = String(text).trim() !== '' && !Number.isNaN(Number(text));
  return isNumber ? Number(text) : text;
}
