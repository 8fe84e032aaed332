import { text } from '../base/check.js';
import { withoutUndefined } from '../base/without-undefined.js';
import { FILE_SINK_OPTIONS } from '../sinks/commit/file-sink-options.js';
import { TABLE_OPTIONS } from '../tables/table-options.js';
import { Call, Code, exportNamed, quoted, type Script } from './call-script.js';
import { type Flags, flagsOf } from './flags.js';

/** What a command was called with. */
export interface Given {
  readonly positionals: readonly string[];
  /** The options of a flag table of the command. */
  readonly options: (flags: Flags) => Record<string, unknown>;
  readonly isTerminal: boolean;
}

/** One command of `millrace`. */
export interface Command {
  /** Its arguments: `QUERY`, `[QUERY]` for one that may be left out, `FILE...` for one or more. @default none */
  readonly usage?: string;
  /** @default none */
  readonly flags?: Flags;
  /** Whether it may cost money: it asks on a terminal, and needs `--yes` elsewhere. */
  readonly costs?: boolean | undefined;
  build(given: Given): Script | Promise<Script>;
}

/** The account in scripts. */
export const ACCOUNT = new Call('account', [], 'acme');

/** The flags of a sink: where posts go. */
export const SINK_FLAGS: Flags = [
  ...flagsOf({
    out: text(
      'the file or files to write, .jsonl, .csv or .parquet, also with .gz; {day} and {tag} are filled in',
    ),
  }),
  ...flagsOf(FILE_SINK_OPTIONS, ['checkpoint', 'maxBytes', 'damaged']),
  ...flagsOf(TABLE_OPTIONS, ['columns']),
];

/** A script of one call, which gets the account first, and the signal last. */
export function accountCall(name: string, ...args: readonly unknown[]): Script {
  return { call: new Call(name, [ACCOUNT, ...args, SIGNAL]) };
}

/** The stages that write items where `--out` says, as its end says, or to standard output. */
export function sinkCalls(
  given: Given,
  { routed = true, table }: { readonly routed?: boolean; readonly table?: string } = {},
): readonly Call[] {
  const { out, columns: listed, ...options } = given.options(SINK_FLAGS);
  // Also a list that is refused, so that the error names the column.
  const columns = typeof listed === 'string' ? listed.split(',') : listed;
  if (typeof out !== 'string') return [new Call('stdout')];
  const sink = /\.csv(\.gz)?$/.test(out) ? 'csv' : /\.parquet$/.test(out) ? 'parquet' : 'files';
  const isTable = sink !== 'files';
  const ofTable =
    isTable && table ? new Code(table, ({ library }) => exportNamed(library, table)) : undefined;
  const sinkOptions = { path: out, columns: columns ?? ofTable, ...options };
  const routes = routed && out.includes('{tag}') ? [new Call('routeByTag')] : [];
  return [...routes, new Call(sink, [withoutUndefined(sinkOptions)])];
}

/** Aborted by Ctrl+C: a script needs none. */
export const SIGNAL = { signal: new Code(undefined, ({ signal }) => signal) };
const PROGRESS = { progress: new Code("'auto'", ({ progress }) => progress) };

/** A script that runs a pipeline of these stages. Its progress says what was written. */
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

/** The posts that standard input has, a line each. */
export const STANDARD_INPUT: readonly unknown[] = [
  new Code('process.stdin', () => process.stdin),
  new Call('jsonLines'),
  new Call('activities'),
];

/** JSON that a file holds, read when the script runs. */
export function jsonIn(file: string, read: (file: string) => unknown): Code {
  return new Code(`JSON.parse(readFileSync(${quoted(file)}, 'utf8'))`, () => read(file));
}
