import path from 'node:path';
import type { Writable } from 'node:stream';
import { checkOptions, type OptionTable, optionError, text } from '../base/check.js';
import { OptionError } from '../base/errors.js';
import { hold } from '../flow/close-streams.js';
import type { Flow, Sink, SinkRun } from '../flow/flow.js';
import { type Argument, internalsOf, withInternals } from '../flow/internals.js';
import { checkSink, composedOf, isPlainObject } from '../flow/pipeline-arguments.js';
import type { AnySink, Callable, InputOf, SinkArgument, SinkResult } from '../flow/stage.js';
import { checkDamagedOf, FileSink, mustDiffer } from './commit/file-sink.js';
import { runSinks } from './commit/run-sinks.js';
import {
  type CommittedBranch,
  type FileBranch,
  type TeeBranch,
  type TeeBranches,
  type TeeConfig,
  TeeRun,
} from './commit/tee-run.js';
import { CommittedSink } from './committed.js';

/** Options of `tee`: the files that record what the branches have written. */
export interface TeeOptions {
  /**
   * The checkpoint file. It records which items the branches with file sinks have safely written, and one
   * cursor for all of these branches. After a crash, the same script writes every item exactly once in each
   * of them. They commit together, once a commit is due in each (`commitIntervalMs`). Their sinks must not
   * have the option `checkpoint`.
   *
   * If a branch ends in `committed`, this option must not be set. The string that the function `save` of
   * `committed` gets is then the checkpoint of all branches.
   */
  readonly checkpoint?: string | undefined;
  /**
   * A file for records that cannot be used, like the option `damaged` of `files`. It contains three kinds of
   * records:
   * - records from stages before `tee`;
   * - records from stages in branches that end in a file sink or in `committed`;
   * - items that a file sink cannot write.
   *
   * Stages in other branches do not write to it. The sinks of the branches must not have this option.
   * @default the first such record ends the run
   */
  readonly damaged?: string | undefined;
}

const OPTIONS = {
  checkpoint: text('the file that remembers what the branches have written'),
  damaged: text('the file of the records that cannot be used'),
} satisfies OptionTable<TeeOptions>;

// `tee` has one type parameter for each branch, and checks each branch in the same way as `pipeline` checks
// its last argument. If a branch does not fit, its expected type is a sentence that says why. The compiler
// infers the type of the items from the call around `tee`. Outside a call, `In` is `never`, and any sink
// fits.

/** Prevents the compiler from inferring `In` from a branch. The call around `tee` determines `In`. */
type Known<In> = [In][In extends unknown ? 0 : never];

/** The type that a branch must have. `Before` is the union of the branches before it. */
type Branch<In, S, Before = never> = [In] extends [never]
  ? [S] extends [AnySink]
    ? S | SinkOf<InputOf<Before>>
    : SinkArgument<never, S>
  : SinkArgument<Known<In>, S>;

/**
 * A sink that reads items of type `In`. If `tee` is not an argument of a call such as `pipeline`, `In` is the
 * type of the items that the earlier branches read. Callbacks in the branch get their parameter types from
 * `In`.
 */
type SinkOf<In> = (
  input: [In] extends [never] ? unknown : unknown extends In ? unknown : Flow<In>,
  run: SinkRun,
) => Promise<unknown>;

/** The type of the last argument, which is a branch or options. */
type LastBranch<In, S, Before> = [S] extends [never]
  ? Branch<In, S, Before> | TeeOptions | undefined
  : [S] extends [Callable | AnySink]
    ? Branch<In, S, Before>
    : TeeOptions | undefined;

type ItemsOf<In, S> = [In] extends [never]
  ? ReaderOf<S> extends (items: infer All) => void
    ? All
    : never
  : In;

/**
 * A function type whose parameter is the type of the items that a sink reads. `never` for a Node `Writable`,
 * whose type does not tell which items it accepts.
 */
type ReaderOf<S> = S extends Writable
  ? never
  : S extends Callable | AnySink
    ? (items: InputOf<S>) => void
    : never;

type ResultsOf<S extends unknown[]> = { [At in keyof S]: SinkResult<S[At]> };

/** The types of the results of the branches, including the last argument if it is a branch. */
type Results<S extends unknown[], Last> = [Last] extends [Callable | AnySink]
  ? ResultsOf<[...S, Last]>
  : ResultsOf<S>;

/**
 * Delivers every item to several branches. A branch is a sink, or operators and a sink joined by `compose`.
 * The slowest branch sets the pace; the fastest branch is at most 16 batches ahead of it. Resolves to the
 * results of all branches, in the order of the arguments.
 *
 * An error in one branch ends all branches, and `tee` rejects with the first error. Unfinished files keep
 * their `.part` names. A branch that ends early, for example by `take`, does not end the others.
 *
 * With `checkpoint`, all branches that end in `files`, `csv` or `parquet` commit together. They commit when
 * each of them has processed exactly the same items of the input. A branch with a different sink is not part of
 * these commits. After a crash, it gets the items after the last commit again, including items that it has
 * already processed.
 *
 * If the option `checkpoint` is not set, one branch may end in `committed`. The transaction that commits rows
 * then also saves the cursor and the committed length of each file. A run that resumes truncates the files to
 * that length. Both the files and the database then have every item exactly once. A commit is due after
 * `waitMs`, or at the next cursor after `rows` rows.
 *
 * @throws OptionError Immediately, if an argument cannot be a branch, two branches have the same `path`, a
 * branch has its own checkpoint, two branches end in `committed`, or `committed` lacks a `transaction`. Also
 * if `checkpoint` is set, but no branch writes files or a branch ends in `committed`.
 * @throws StorageError If two branches write the same file, and for errors of the sinks.
 * @example
 * const [raw, table, posts] = await pipeline(
 *   replay(account(), { streamType: 'rulestream', fromDate, toDate }),
 *   tee(
 *     files({ path: 'out/{day}.jsonl.gz' }),
 *     compose(filter(post => post.lang === 'en'), files({ path: 'out/en/{day}.jsonl' })),
 *     collect(),
 *     { checkpoint: 'out/checkpoint.json' },
 *   ),
 * );
 */
export function tee<In = never, A = never>(a: Branch<In, A>): Sink<ItemsOf<In, A>, ResultsOf<[A]>>;
export function tee<In = never, A = never, Z = never>(
  a: Branch<In, A>,
  last: LastBranch<In, Z, A>,
): Sink<ItemsOf<In, A | Z>, Results<[A], Z>>;
export function tee<In = never, A = never, B = never, Z = never>(
  a: Branch<In, A>,
  b: Branch<In, B, A>,
  last: LastBranch<In, Z, A | B>,
): Sink<ItemsOf<In, A | B | Z>, Results<[A, B], Z>>;
export function tee<In = never, A = never, B = never, C = never, Z = never>(
  a: Branch<In, A>,
  b: Branch<In, B, A>,
  c: Branch<In, C, A | B>,
  last: LastBranch<In, Z, A | B | C>,
): Sink<ItemsOf<In, A | B | C | Z>, Results<[A, B, C], Z>>;
export function tee<In = never, A = never, B = never, C = never, D = never, Z = never>(
  a: Branch<In, A>,
  b: Branch<In, B, A>,
  c: Branch<In, C, A | B>,
  d: Branch<In, D, A | B | C>,
  last: LastBranch<In, Z, A | B | C | D>,
): Sink<ItemsOf<In, A | B | C | D | Z>, Results<[A, B, C, D], Z>>;
export function tee<In = never, A = never, B = never, C = never, D = never, E = never, Z = never>(
  a: Branch<In, A>,
  b: Branch<In, B, A>,
  c: Branch<In, C, A | B>,
  d: Branch<In, D, A | B | C>,
  e: Branch<In, E, A | B | C | D>,
  last: LastBranch<In, Z, A | B | C | D | E>,
): Sink<ItemsOf<In, A | B | C | D | E | Z>, Results<[A, B, C, D, E], Z>>;
export function tee<
  In = never,
  A = never,
  B = never,
  C = never,
  D = never,
  E = never,
  F = never,
  Z = never,
>(
  a: Branch<In, A>,
  b: Branch<In, B, A>,
  c: Branch<In, C, A | B>,
  d: Branch<In, D, A | B | C>,
  e: Branch<In, E, A | B | C | D>,
  f: Branch<In, F, A | B | C | D | E>,
  last: LastBranch<In, Z, A | B | C | D | E | F>,
): Sink<ItemsOf<In, A | B | C | D | E | F | Z>, Results<[A, B, C, D, E, F], Z>>;
export function tee<
  In = never,
  A = never,
  B = never,
  C = never,
  D = never,
  E = never,
  F = never,
  G = never,
  Z = never,
>(
  a: Branch<In, A>,
  b: Branch<In, B, A>,
  c: Branch<In, C, A | B>,
  d: Branch<In, D, A | B | C>,
  e: Branch<In, E, A | B | C | D>,
  f: Branch<In, F, A | B | C | D | E>,
  g: Branch<In, G, A | B | C | D | E | F>,
  last: LastBranch<In, Z, A | B | C | D | E | F | G>,
): Sink<ItemsOf<In, A | B | C | D | E | F | G | Z>, Results<[A, B, C, D, E, F, G], Z>>;
export function tee<
  In = never,
  A = never,
  B = never,
  C = never,
  D = never,
  E = never,
  F = never,
  G = never,
  H = never,
>(
  a: Branch<In, A>,
  b: Branch<In, B, A>,
  c: Branch<In, C, A | B>,
  d: Branch<In, D, A | B | C>,
  e: Branch<In, E, A | B | C | D>,
  f: Branch<In, F, A | B | C | D | E>,
  g: Branch<In, G, A | B | C | D | E | F>,
  h: Branch<In, H, A | B | C | D | E | F | G>,
  options: TeeOptions | undefined,
): Sink<ItemsOf<In, A | B | C | D | E | F | G | H>, ResultsOf<[A, B, C, D, E, F, G, H]>>;
export function tee(...args: readonly unknown[]): Sink<unknown, unknown[]> {
  const config = teeConfig(args);
  const sink: Sink<unknown, unknown[]> = async (input, run = {}) => {
    const tee = new TeeRun(config, input, run);
    const fs = config.files[0]?.file.fs ?? config.committed?.committed.fs;
    if (fs === undefined) await tee.read({ sinkRuns: [], signal: run.signal });
    else await tee.end(await runSinks<unknown>(fs, tee.together()));
    return tee.results;
  };
  return withInternals(hold(sink, args), { holdsLocks: true, counts: true });
}

function teeConfig(args: readonly unknown[]): TeeConfig {
  const values = [...args];
  while (values.length > 1 && values.at(-1) === undefined) values.pop();
  const given = (isPlainObject(values.at(-1)) ? values.pop() : {}) as TeeOptions;
  const { checkpoint, damaged } = checkOptions('tee', OPTIONS, given);
  return { checkpoint, damaged, ...checkBranches(values, { checkpoint, damaged }) };
}

/** @throws OptionError if there are no branches, or if the branches and options cannot be combined. */
export function checkBranches(
  values: readonly unknown[],
  {
    checkpoint,
    damaged,
  }: { readonly checkpoint: string | undefined; readonly damaged: string | undefined },
): TeeBranches {
  if (values.length === 0)
    throw new OptionError('sink', '`tee` has no branch. Pass sinks, such as `files(...)`');
  const branches = values.map((value, index) =>
    branchOf({ value, position: index + 1, of: 'tee' }),
  );
  const files = branches.filter(branch => 'file' in branch);
  const [committed, second] = branches.filter(branch => 'committed' in branch);
  const others = branches.filter(branch => !('file' in branch || 'committed' in branch));
  if (committed !== undefined) checkCommitted(committed, { second, checkpoint });
  for (const { file, position } of files) {
    const { settings } = file.config;
    for (const name of ['checkpoint', 'damaged'] as const)
      if (file.config[name] !== undefined)
        throw optionError(
          settings.step,
          name,
          `must not be given in branch ${position} of tee(): give it to tee itself, \`tee(...branches, { ${name} })\``,
        );
    if (checkpoint !== undefined) mustDiffer(settings.step, file.config, checkpoint);
  }
  for (const [name, file] of Object.entries({ checkpoint, damaged }))
    if (file !== undefined && files.length === 0 && committed === undefined)
      throw optionError('tee', name, 'needs a branch that writes files, and there is none');
  if (damaged !== undefined)
    checkDamagedOf('tee', damaged, { configs: files.map(({ file }) => file.config), checkpoint });
  refuseSharedPaths(files);
  return { files, committed, others };
}

/**
 * Refuses options that cannot be combined with a branch that ends in `committed`. The checkpoint of all
 * branches is saved in the same transaction as the rows. Therefore, `committed` must have a `transaction`,
 * and `tee` must not have a `checkpoint`.
 */
function checkCommitted(
  { committed, position }: CommittedBranch,
  {
    second,
    checkpoint,
  }: {
    readonly second: CommittedBranch | undefined;
    readonly checkpoint: string | undefined;
  },
): void {
  if (second !== undefined)
    throw optionError(
      'tee',
      'sink',
      `must have one branch that ends in committed(), and ${position} and ${second.position} do: two targets cannot commit as a whole. Write to both in one \`transaction\`, or run a pipeline for each`,
    );
  if (checkpoint !== undefined)
    throw optionError(
      'tee',
      'checkpoint',
      `must not be given with committed() in branch ${position}: the text that its \`save\` saves is the checkpoint of all branches`,
    );
  if (committed.options.damaged !== undefined)
    throw optionError(
      'committed',
      'damaged',
      `must not be given in branch ${position} of tee(): give it to tee itself, \`tee(...branches, { damaged })\``,
    );
  if (committed.options.transaction === undefined)
    throw optionError(
      'committed',
      'transaction',
      `is missing in branch ${position} of tee(): rows, cursor and the counts of the files are saved as a whole. Without transactions, write the files first and read them by localFiles`,
    );
}

function branchOf(argument: Argument): TeeBranch | FileBranch | CommittedBranch {
  checkSink(argument);
  const { stages, last } = composedOf(argument);
  const branch = { position: argument.position, stages, sink: last };
  const { branch: as } = internalsOf(last.value);
  if (as instanceof FileSink) return { ...branch, file: as };
  return as instanceof CommittedSink ? { ...branch, committed: as } : branch;
}

/**
 * Refuses branches with equal paths before the run starts. Different paths may still lead to the same file;
 * this is noticed when the second branch opens that file.
 */
function refuseSharedPaths(files: readonly FileBranch[]): void {
  const seen = new Map<string, number>();
  for (const { file, position } of files) {
    const { path: target, settings } = file.config;
    if (typeof target === 'function') continue;
    const template = path.normalize(String(settings.path));
    const first = seen.get(template);
    if (first !== undefined)
      throw optionError(
        settings.step,
        'path',
        `must differ in each branch of tee(): branches ${first} and ${position} have ${JSON.stringify(template)}`,
      );
    seen.set(template, position);
  }
}
