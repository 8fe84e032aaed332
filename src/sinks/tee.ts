import { LinkedAbort } from '../abortable.js';
import { checkOptions, type OptionTable, text } from '../check.js';
import type { Engine } from '../engine/engine.js';
import { Plan } from '../engine/plan.js';
import { sharedFlow } from '../engine/planned.js';
import type { EngineBatch } from '../engine/rows.js';
import { drain, ownSink } from '../flow/drain.js';
import {
  type Batches,
  batchesOf,
  boundFlow,
  type Cursor,
  type Flow,
  type FlowSink,
  identityOf,
  OwnFlow,
  type Pull,
  type Run,
  type Sink,
  type SinkRun,
} from '../flow/flow.js';
import { isIncremental } from '../flow/flow-difference.js';
import { hold } from '../flow/held-streams.js';
import type { WritableSink } from '../flow/pipeline.js';
import { applyStage, isPlainObject } from '../flow/pipeline-arguments.js';
import type { Progress } from '../flow/progress.js';
import { BranchCommits, ENDED } from './branches/branch-commits.js';
import {
  type BranchPlan,
  type BranchPlans,
  type CommittedBranchPlan,
  type FileBranch,
  planBranches,
} from './branches/branch-plans.js';
import { Feed } from './branches/feed.js';
import { type BranchRun, CommittedBranch } from './committed/committed-branch.js';
import type { Committed } from './committed.js';
import type { CheckpointOwner } from './output/checkpoint-text.js';
import type { RunResult } from './output/completed-run.js';
import type { FileWriter } from './output/file-writer.js';
import {
  type OpenStore,
  type Session,
  type TogetherOptions,
  writeTogether,
} from './output/write-together.js';

/** How the branches of `tee` remember what they have written. */
export interface TeeOptions {
  /**
   * A file that stores what the branches to files have safely written and the cursor after it, for all of
   * them together: after a crash, the same script gives each of these branches every item exactly once,
   * and none has more than another. The sinks of the branches must have no checkpoint of their own; how
   * often they commit (`commitIntervalMs`) is decided by the slowest of them. Not with a branch that ends in `committed`:
   * what its `save` saves is the checkpoint of all then.
   */
  readonly checkpoint?: string | undefined;
  /**
   * A file of the records that cannot be used, as the option of `files` has it: what stages before `tee` and in the
   * branches to files and to `committed` report, and the items that cannot be written to files. A stage in a branch to
   * another sink has no part in it. The sinks of the branches must have no such option of their own.
   * @default the first such record ends the run
   */
  readonly damaged?: string | undefined;
}

const OPTIONS = {
  checkpoint: text('the file that remembers what the branches have written'),
  damaged: text('the file of the records that cannot be used'),
} satisfies OptionTable<TeeOptions>;

/** A sink or a stream to write to, at the end of a branch of `tee`. */
type Branch<In, R> = FlowSink<In, R> | WritableSink<In>;

/** The branches with these results, in their order. */
type Branches<In, Results extends unknown[]> = {
  [At in keyof Results]: Branch<In, Results[At]>;
};

/**
 * Gives every item to several branches, each a sink or, by `compose`, operators and a sink. They run at the
 * pace of the slowest, with at most 16 batches between it and the fastest. Resolves to the results of
 * all, in their order.
 *
 * An error in one branch ends all of them, and the first error rejects; unfinished files keep their `.part`
 * names. A branch that ends early, as with `take`, does not end the others.
 *
 * With `checkpoint`, all branches that end in `files`, `csv` or `parquet` commit together, where they have
 * taken exactly the same items of the input. A branch with another sink takes no part: after a crash, it
 * gets the items from the last commit on, of which it may have seen some before.
 *
 * One branch may end in `committed`. Then there is no `checkpoint`: the transaction that commits rows also saves the
 * cursor and how much of each file counts, and a run that goes on cuts the files back to that. So files and database have
 * every item exactly once, and a commit is due as with `checkpoint` (`waitMs`), and at the next cursor from `rows` rows on.
 *
 * @throws OptionError Immediately, when an argument cannot be a branch, two branches have the same `path`, a
 * branch has a checkpoint of its own, `checkpoint` is given and no branch writes files or one ends in `committed`, two
 * branches end in `committed`, or its target has no `transaction`.
 * @throws StorageError When two branches write one file, and as the sinks do.
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
export function tee<
  In,
  A = void,
  B = void,
  C = void,
  D = void,
  E = void,
  F = void,
  G = void,
  H = void,
>(
  ...branches: [...Branches<In, [A, B, C, D, E, F, G, H]>, options?: TeeOptions]
): Sink<In, [A, B, C, D, E, F, G, H]>;
export function tee<In, A = void, B = void, C = void, D = void, E = void, F = void, G = void>(
  ...branches: [...Branches<In, [A, B, C, D, E, F, G]>, options?: TeeOptions]
): Sink<In, [A, B, C, D, E, F, G]>;
export function tee<In, A = void, B = void, C = void, D = void, E = void, F = void>(
  ...branches: [...Branches<In, [A, B, C, D, E, F]>, options?: TeeOptions]
): Sink<In, [A, B, C, D, E, F]>;
export function tee<In, A = void, B = void, C = void, D = void, E = void>(
  ...branches: [...Branches<In, [A, B, C, D, E]>, options?: TeeOptions]
): Sink<In, [A, B, C, D, E]>;
export function tee<In, A = void, B = void, C = void, D = void>(
  ...branches: [...Branches<In, [A, B, C, D]>, options?: TeeOptions]
): Sink<In, [A, B, C, D]>;
export function tee<In, A = void, B = void, C = void>(
  ...branches: [...Branches<In, [A, B, C]>, options?: TeeOptions]
): Sink<In, [A, B, C]>;
export function tee<In, A = void, B = void>(
  ...branches: [...Branches<In, [A, B]>, options?: TeeOptions]
): Sink<In, [A, B]>;
export function tee<In, A = void>(
  ...branches: [...Branches<In, [A]>, options?: TeeOptions]
): Sink<In, [A]>;
export function tee(...args: readonly unknown[]): Sink<unknown, unknown[]> {
  const plan = planOf(args);
  const sink: Sink<unknown, unknown[]> = async (input, run = {}) => {
    const tee = new Tee(plan, input, run);
    const fs = plan.files[0]?.file.fs ?? plan.committed?.committed.fs;
    if (fs === undefined) await tee.read({ writers: [], signal: run.signal });
    else await tee.end(await writeTogether<unknown>(fs, tee.together()));
    return tee.results;
  };
  return ownSink(hold(sink, args));
}

interface TeePlan extends BranchPlans {
  readonly checkpoint: string | undefined;
  readonly damaged: string | undefined;
}

/** A branch in a run. */
interface OpenBranch {
  /** Its number in `Feed`, and of a branch that commits in the checkpoint. */
  readonly number: number;
  readonly plan: BranchPlan;
  readonly progress: Progress | undefined;
  /** What its operators make of the input. */
  readonly output: AsyncIterable<unknown>;
}

/** One run. */
class Tee {
  readonly results: unknown[] = [];
  readonly #plan: TeePlan;
  readonly #input: AsyncIterable<unknown>;
  readonly #run: SinkRun;
  readonly #files: readonly OpenBranch[];
  /** The branch to `committed`. */
  readonly #rows: OpenBranch | undefined;
  readonly #others: readonly OpenBranch[];
  #target: CommittedBranch<unknown, unknown> | undefined;
  #started = false;
  /** The engine that the input is read by, where a branch takes rows. */
  #engine: Engine | undefined;
  #readFeed: (number: number, run: Run) => AsyncIterable<EngineBatch> = async function* () {};

  constructor(plan: TeePlan, input: AsyncIterable<unknown>, run: SinkRun) {
    this.#plan = plan;
    this.#input = input;
    this.#run = run;
    const { files, committed, others } = plan;
    const plans = [...files, ...(committed === undefined ? [] : [committed]), ...others];
    const progress = plans.map(() => run.progress?.branch());
    const branches = plans.map((branch, number) => ({
      number,
      plan: branch,
      progress: progress[branch.position - 1],
      output: branch.stages.reduce<AsyncIterable<unknown>>(applyStage, this.#flowOf(number)),
    }));
    this.#files = branches.slice(0, files.length);
    this.#rows = committed && branches[files.length];
    this.#others = branches.slice(this.#committing.length);
  }

  /** The branches that commit together. */
  get #committing(): readonly OpenBranch[] {
    return this.#rows === undefined ? this.#files : [...this.#files, this.#rows];
  }

  /** How the branches that commit run. */
  together(): TogetherOptions<unknown> {
    const { files, damaged, checkpoint } = this.#plan;
    const owner = this.#owner();
    return {
      sinks: this.#files.map(({ number, progress }) => ({
        plan: (files[number] as FileBranch).file.plan,
        branch: number,
        progress,
      })),
      checkpoint: this.#rows === undefined ? checkpoint : this.#openTarget(this.#rows, owner),
      damaged,
      progress: this.#run.progress,
      owner,
      signal: this.#run.signal,
      read: session => this.read(session),
    };
  }

  #owner(): CheckpointOwner {
    const { files } = this.#plan;
    // The steps of each branch and the settings of its sink, with the number of the branch.
    const branches = this.#committing.flatMap(({ output, number }) => {
      const settings = files[number]?.file.plan.settings ?? { step: 'committed' };
      return [...identityOf(output), settings].map(step => ({ ...step, branch: number + 1 }));
    });
    return {
      sink: { step: 'tee', branches: this.#committing.length },
      flow: [...identityOf(this.#input), ...branches],
    };
  }

  #openTarget({ progress }: OpenBranch, owner: CheckpointOwner): OpenStore {
    const { committed, files } = this.#plan;
    return async (fs, folder) => {
      const { options } = (committed as CommittedBranchPlan).committed;
      const target = new CommittedBranch(options, owner, { signal: this.#run.signal, progress });
      const paths = files.map(({ file }) => String(file.plan.settings.path));
      try {
        await target.lock(fs, folder, paths);
      } catch (error) {
        await target.close();
        throw error;
      }
      this.#target = target;
      return target;
    };
  }

  /** Takes what the branches have written, in this run and before. */
  async end({ written, damaged, completeSince }: RunResult): Promise<void> {
    if (!this.#started) await this.#readNothing();
    for (const { number, plan } of this.#files) this.results[plan.position - 1] = written[number];
    if (this.#rows === undefined || this.#target === undefined) return;
    const result: Committed = {
      rows: this.#target.rows,
      ...(damaged !== undefined && { damaged }),
      ...(completeSince !== undefined && { completeSince }),
      ...(isIncremental(identityOf(this.#input)) && { added: this.#target.added }),
    };
    this.results[this.#rows.plan.position - 1] = result;
  }

  /** Reads the input to its end, or until all branches have ended. */
  async read(opened: Opened): Promise<Cursor | undefined> {
    const { writers, signal, before, committer, damaged } = opened;
    this.#started = true;
    const { resume, cursors } = cursorsOf(before?.cursor, this.#committing.length);
    const ended = cursors.map(cursor => cursor === ENDED);
    const stop = new LinkedAbort(signal);
    const { progress } = this.#run;
    const feed = new Feed(
      this.#batches({ signal: stop.signal, resume, progress, damaged }, opened),
      [...this.#committing, ...this.#others]
        .map(({ number }) => number)
        .filter(number => ended[number] !== true),
      () => commits?.full(),
    );
    const commits = committer && new BranchCommits(committer, feed, { signal: stop.signal, ended });
    this.#readFeed = (number, run) =>
      feed.read(number, run, { resumes: cursors[number] !== undefined });

    let failure: { readonly error: unknown } | undefined;
    const fail = (error: unknown) => {
      failure ??= { error };
      stop.abort(error);
    };
    const running: Promise<void>[] = [];
    const guard = ({ number }: OpenBranch, end: PromiseLike<void>) =>
      running.push(
        Promise.resolve(end)
          .catch(fail)
          .finally(() => feed.leave(number)),
      );
    try {
      for (const branch of this.#others) guard(branch, this.#drain(branch, stop.signal));
      for (const branch of this.#committing) {
        const { number } = branch;
        if (ended[number] === true) continue;
        const write = this.#write(branch, writers[number], {
          signal: stop.signal,
          resume: cursors[number] as Cursor | undefined,
          damaged,
          reached: async cursor => commits?.reached(number, cursor),
          idle: async () => committer?.idle(),
          fail,
        });
        guard(
          branch,
          write.then(end => commits?.ended(number, end)),
        );
      }
      // All sinks are called, so all arguments are what they should be.
      feed.start();
    } catch (error) {
      fail(error);
    }
    await Promise.all(running);
    commits?.close();
    stop.unlink();
    await feed.close();
    failure ??= feed.failure;
    if (failure !== undefined) throw failure.error;
    return commits?.end(before?.cursor);
  }

  /** Runs the other branches without items, where a checkpoint says that all is written. */
  async #readNothing(): Promise<void> {
    const { signal = new AbortController().signal } = this.#run;
    for (const branch of this.#others) await this.#drain(branch, signal);
  }

  #write(
    { output, progress }: OpenBranch,
    writer: FileWriter<unknown> | undefined,
    run: BranchRun,
  ): Promise<Cursor | undefined> {
    const { signal, resume, damaged, reached } = run;
    const bound = boundFlow(output, { signal, progress });
    if (writer !== undefined)
      return writer.write(bound, { signal, resume, progress, damaged }, reached);
    return (this.#target as CommittedBranch<unknown, unknown>).write(bound, { ...run, progress });
  }

  /** Runs the sink of a branch. @throws OptionError when a function is not a sink. */
  #drain({ output, progress, plan }: OpenBranch, signal: AbortSignal): PromiseLike<void> {
    const run = { signal, progress };
    return drain(boundFlow(output, run), plan.sink, run).then(result => {
      this.results[plan.position - 1] = result;
    });
  }

  /** The input: rows, where a branch can take them, and items otherwise. */
  #batches(pull: Pull, { writers, engine }: Opened): AsyncIterable<EngineBatch> {
    const plan = Plan.of(this.#input);
    const takesRows = this.#files.some(
      ({ output, number }) =>
        writers[number]?.takesRows === true && Plan.of(output)?.isComplete === true,
    );
    if (plan === undefined || !takesRows || engine?.canRun(this.#input) !== true)
      return batchesOf(this.#input, pull);
    this.#engine = engine;
    const branches = [...this.#committing, ...this.#others].flatMap(
      ({ output }) => Plan.of(output) ?? [],
    );
    return engine.run(plan, pull, branches);
  }

  /** The input of a branch, which is known when it is opened. */
  #flowOf(number: number): Flow<unknown> {
    const read = (run: Run) => this.#readFeed(number, run);
    const plan = Plan.of(this.#input);
    // Without a plan, all batches are items.
    if (plan?.isComplete !== true) return new OwnFlow(run => read(run) as Batches<unknown>);
    const engine = () => this.#engine;
    return sharedFlow(plan, {
      read,
      get engine() {
        return engine();
      },
    });
  }
}

type Opened = Pick<Session<unknown>, 'writers'> &
  Partial<Pick<Session<unknown>, 'before' | 'committer' | 'damaged' | 'engine'>> & {
    readonly signal: AbortSignal | undefined;
  };

/** The cursor of the input, and of each branch that commits. */
function cursorsOf(cursor: Cursor | undefined, branches: number) {
  const { tee = [], inner } = (cursor ?? {}) as {
    readonly tee?: readonly (Cursor | typeof ENDED)[];
    readonly inner?: Cursor;
  };
  return {
    resume: inner ?? undefined,
    cursors: Array.from({ length: branches }, (_, index) => tee[index]),
  };
}

function planOf(args: readonly unknown[]): TeePlan {
  const values = [...args];
  while (values.length > 1 && values.at(-1) === undefined) values.pop();
  const given = (isPlainObject(values.at(-1)) ? values.pop() : {}) as TeeOptions;
  const { checkpoint, damaged } = checkOptions('tee', OPTIONS, given);
  return { checkpoint, damaged, ...planBranches(values, { checkpoint, damaged }) };
}
