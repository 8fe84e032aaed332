import { fstatSync } from 'node:fs';
import { flag, text } from '../base/check.js';
import { OptionError } from '../base/errors.js';
import { type Flags, flagsOf } from '../base/flags.js';
import { withoutUndefined } from '../base/record.js';
import { SHARD_OPTION } from '../base/shard.js';
import { CSV_OPTIONS } from '../sinks/csv.js';
import { type FileSinkName, pathExtension } from '../sinks/write/path-template.js';
import { Call, Code, exportNamed, quoted, type Script } from './call-script.js';

/** The arguments with which a command was called. */
export interface CommandLine {
  readonly positionals: readonly string[];
  /** Returns the options for a table of flags of the command. */
  readonly options: (flags: Flags) => Record<string, unknown>;
  /** Whether results are for a person, because standard output is a terminal and `--json` is not set. */
  readonly isTerminal: boolean;
}

/** A command of `millrace`. */
export interface Command {
  /** The arguments: `QUERY`, `[QUERY]` if it is optional, `FILE...` for one or more. @default none */
  readonly usage?: string;
  /** The flags of the command. @default none */
  readonly flags?: Flags;
  /** Two valid calls, without `millrace` and the name of the command. */
  readonly examples: readonly [string, string];
  /** Whether it may cost money. It then asks on a terminal, and needs `--yes` otherwise. */
  readonly costs?: boolean | undefined;
  build(given: CommandLine): Script | Promise<Script>;
}

/** The flags that every command has. */
export const SHARED_FLAGS: Flags = flagsOf(
  {
    envFile: text('a file of variables, such as MILLRACE_URL'),
    printScript: flag('print the script that does the same, and run nothing'),
    json: flag('report results and errors as JSON'),
    quiet: flag('show no progress'),
    help: flag('print this help, as -h does'),
  },
  undefined,
  { envFile: { placeholder: 'file' } },
);

/** The flag of commands that may cost money. */
export const YES: Flags = flagsOf({ yes: flag('accept what it costs, without a question') });

/** All flags of a command. */
export function allFlags({ flags = [], costs }: Command): Flags {
  return [...flags, ...(costs ? YES : []), ...SHARED_FLAGS];
}

/** The call of `account()` in scripts, which is named `acme`. */
export const ACCOUNT = new Call('account', [], 'acme');

/** The flags of a sink, which tell where posts are written. */
export const SINK_FLAGS: Flags = [
  ...flagsOf(
    { out: text('where to write, .gz too; {day} and {tag} are filled in; - is stdout') },
    undefined,
    { out: { placeholder: 'file.jsonl, .csv or .parquet', shownDefault: '-' } },
  ),
  ...flagsOf(CSV_OPTIONS, ['checkpoint', 'damaged', 'maxBytes', 'columns'], {
    checkpoint: { placeholder: 'file' },
    damaged: { placeholder: 'file' },
    columns: { placeholder: 'id,text,...' },
  }),
];

/** The flag for commands whose source has shards. */
export const SHARD: Flags = flagsOf({ shard: SHARD_OPTION }, undefined, {
  shard: { shownDefault: 'all' },
});

/** A script of one call, with the account as first argument and the signal in the last. */
export function accountCall(name: string, ...args: readonly unknown[]): Script {
  return { call: new Call(name, [ACCOUNT, ...args, SIGNAL]) };
}

/** How a command changes the stages that write its items. */
interface SinkDetails {
  /** Whether `{tag}` in the path routes posts by tag. @default true */
  readonly routed?: boolean;
  /** The columns for the items. @default the columns of posts */
  readonly table?: string;
  /** The argument that names the files. @default '--out' */
  readonly argument?: string;
}

/** The stages that write items to the path of `--out`, in the format of its extension, or to standard output. */
export function sinkCalls(
  given: CommandLine,
  { routed = true, table, argument = '--out' }: SinkDetails = {},
): readonly Call[] {
  const { out, columns: listed, ...options } = given.options(SINK_FLAGS);
  // Also keeps invalid lists, so that the error names the column.
  const columns = typeof listed === 'string' ? listed.split(',') : listed;
  if (typeof out !== 'string' || out === '-') {
    refuseWithoutFile({ columns, ...options }, argument);
    return [new Call('stdout')];
  }
  const sink = sinkOf(out, argument);
  const isTable = sink !== 'files';
  if (columns !== undefined && !isTable)
    throw new OptionError('columns', `--columns is for CSV and Parquet, and ${out} is neither`);
  const ofTable =
    isTable && table ? new Code(table, ({ library }) => exportNamed(library, table)) : undefined;
  const sinkOptions = { path: out, columns: columns ?? ofTable, ...options };
  const routes = routed && out.includes('{tag}') ? [new Call('routeByTag')] : [];
  return [...routes, new Call(sink, [withoutUndefined(sinkOptions)])];
}

/** @throws OptionError for a flag that only applies to files. */
function refuseWithoutFile(options: Readonly<Record<string, unknown>>, argument: string): void {
  const [option] = Object.keys(options).filter(name => options[name] !== undefined);
  if (option === undefined) return;
  const name = option.replaceAll(/[A-Z]/g, '-$&').toLowerCase();
  throw new OptionError(
    option,
    `--${name} needs ${argument} with a file: without one, JSON lines go to standard output`,
  );
}

/** @throws OptionError for a file whose extension does not match the content. */
function sinkOf(out: string, argument: string): FileSinkName {
  const { extension, sink, compression } = pathExtension(out);
  // A name without an extension, such as `{tag}/{day}`, also means JSON lines.
  if (extension === undefined) return 'files';
  const isMeant = extension !== 'json' && !(sink === 'parquet' && compression !== undefined);
  if (sink !== undefined && isMeant) return sink;
  const [, stem = out, end = ''] = /^(.*?)((?:\.\w+){1,2})$/.exec(out) ?? [];
  const meant = /parquet/i.test(end)
    ? `Parquet compresses by itself: name it ${stem}.parquet`
    : /json/i.test(end)
      ? `JSON lines are not a JSON document: name it ${stem}.jsonl${/\.(gz|zst)$/i.exec(end)?.[0] ?? ''}`
      : 'it must end in .jsonl or .ndjson for JSON lines, .csv or .parquet; all but .parquet also with .gz or .zst';
  throw new OptionError('out', `${argument} ${out}: ${meant}`);
}

/** The option `signal`, which fires on Ctrl+C. A printed script does not need it. */
export const SIGNAL = { signal: new Code(undefined, ({ signal }) => signal) };
const PROGRESS = { progress: new Code("'auto'", ({ progress }) => progress) };

/** A script that runs a pipeline of these stages. Its progress reports what was written. */
export function pipelineScript(
  stages: readonly unknown[],
  report: Script['report'] = () => '',
): Script {
  const isOnStdout = stages.some(
    stage => stage instanceof Call && ['stdout', 'chart'].includes(stage.name),
  );
  const call = new Call('pipeline', [...stages, { ...PROGRESS, ...SIGNAL }]);
  return { call, report, isOnStdout };
}

/** Creates a script that writes a list: to a file, as JSON lines, or as a table on a terminal. */
export function listScript(source: Call, given: CommandLine, details: SinkDetails = {}): Script {
  const sinks = sinkCalls(given, details);
  const isShown = given.isTerminal && sinks.some(({ name }) => name === 'stdout');
  if (!isShown) return pipelineScript([source, ...sinks]);
  return { ...pipelineScript([source, new Call('collect')]), report: undefined };
}

/** Returns standard input. Refuses a folder, which Node would read as an empty input. */
function standardInput(): typeof process.stdin {
  if (fstatSync(0).isDirectory())
    throw new OptionError('stdin', 'Standard input is a folder: millrace convert reads its files');
  return process.stdin;
}

/** The stages that read posts from standard input, one per line. */
export const STANDARD_INPUT: readonly unknown[] = [
  new Code('process.stdin', standardInput),
  new Call('jsonLines'),
  new Call('activities'),
];

/**
 * The JSON in a file, which is read when the script runs. `JSON.parse` refuses a byte order mark, so it is
 * removed.
 */
export function jsonIn(file: string, read: (file: string) => unknown): Code {
  const text = `readFileSync(${quoted(file)}, 'utf8').replace(/^\\ufeff/, '')`;
  return new Code(`JSON.parse(${text})`, () => read(file));
}
