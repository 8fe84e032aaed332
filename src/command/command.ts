import { fstatSync } from 'node:fs';
import { flag, text } from '../base/check.js';
import { OptionError } from '../base/errors.js';
import { type Flags, flagsOf } from '../base/flags.js';
import { withoutUndefined } from '../base/record.js';
import { SHARD_OPTION } from '../base/shard.js';
import { CSV_OPTIONS } from '../sinks/csv.js';
import { type FileSinkName, pathExtension } from '../sinks/write/path-template.js';
import { Call, Code, exportNamed, quoted, type Script } from './call-script.js';

export interface CommandLine {
  readonly positionals: readonly string[];
  readonly options: (flags: Flags) => Record<string, unknown>;
  /** Whether results are formatted for a person: standard output is a terminal and `--json` is not set. */
  readonly isTerminal: boolean;
}

export interface Command {
  /**
   * The positional arguments: `QUERY`, `[QUERY]` if it is optional, `FILE...` for one or more. @default none
   */
  readonly usage?: string;
  readonly flags?: Flags;
  /** Two examples of valid arguments, without `millrace` and the name of the command. */
  readonly examples: readonly [string, string];
  /**
   * Whether the command may cost money. If so, it asks for confirmation on a terminal; without a terminal, it
   * requires `--yes`.
   */
  readonly costs?: boolean | undefined;
  build(given: CommandLine): Script | Promise<Script>;
}

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

export const YES: Flags = flagsOf({ yes: flag('accept what it costs, without a question') });

export function allFlags({ flags = [], costs }: Command): Flags {
  return [...flags, ...(costs ? YES : []), ...SHARED_FLAGS];
}

export const ACCOUNT = new Call('account', [], 'acme');

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

export const SHARD: Flags = flagsOf({ shard: SHARD_OPTION }, undefined, {
  shard: { shownDefault: 'all' },
});

export function accountCall(name: string, ...args: readonly unknown[]): Script {
  return { call: new Call(name, [ACCOUNT, ...args, SIGNAL]) };
}

interface SinkDetails {
  /** Whether `{tag}` in the path routes posts by tag. @default true */
  readonly routed?: boolean;
  /**
   * The name of the export whose columns are written, such as `tables.usage`. @default the columns of posts
   */
  readonly table?: string;
  /** The command-line argument that error messages name as the path of the output. @default '--out' */
  readonly argument?: string;
}

/**
 * Returns the stages that write items. They write to the path in `--out`, in the format of its extension.
 * Without a path, they write to standard output.
 */
export function sinkCalls(
  given: CommandLine,
  { routed = true, table, argument = '--out' }: SinkDetails = {},
): readonly Call[] {
  const { out, columns: listed, ...options } = given.options(SINK_FLAGS);
  // The names of columns are not checked here, because the library throws an error that names the wrong one.
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

/** @throws OptionError for a flag that applies only to files */
function refuseWithoutFile(options: Readonly<Record<string, unknown>>, argument: string): void {
  const [option] = Object.keys(options).filter(name => options[name] !== undefined);
  if (option === undefined) return;
  const name = option.replaceAll(/[A-Z]/g, '-$&').toLowerCase();
  throw new OptionError(
    option,
    `--${name} needs ${argument} with a file: without one, JSON lines go to standard output`,
  );
}

/**
 * Returns the sink for the extension of a path.
 *
 * @throws OptionError for an extension that no sink writes, such as `.json` or `.parquet.gz`
 */
function sinkOf(out: string, argument: string): FileSinkName {
  const { extension, sink, compression } = pathExtension(out);
  // A path without an extension, such as `{tag}/{day}`, gets JSON lines.
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

/**
 * The option `signal` of a library call. The command passes a signal that fires on Ctrl+C. A script that the
 * command prints omits the option.
 */
export const SIGNAL = { signal: new Code(undefined, ({ signal }) => signal) };
const PROGRESS = { progress: new Code("'auto'", ({ progress }) => progress) };

/**
 * Creates a script that runs a pipeline of these stages. By default, nothing is printed at the end, because
 * the progress display already shows what was written.
 */
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

/**
 * Creates a script that writes a list of items to a file or to standard output. On a terminal without
 * `--json`, standard output gets a table instead of JSON lines.
 */
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

export const STANDARD_INPUT: readonly unknown[] = [
  new Code('process.stdin', standardInput),
  new Call('jsonLines'),
  new Call('activities'),
];

/**
 * Returns code that parses a JSON file when the script runs. The code first removes a byte order mark, which
 * `JSON.parse` refuses.
 */
export function jsonIn(file: string, read: (file: string) => unknown): Code {
  const text = `readFileSync(${quoted(file)}, 'utf8').replace(/^\\ufeff/, '')`;
  return new Code(`JSON.parse(${text})`, () => read(file));
}
