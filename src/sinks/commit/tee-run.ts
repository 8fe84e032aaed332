import { LinkedAbort } from '../../base/abortable.js';
import { isBudgetSpent } from '../../base/errors.js';
import type { Engine } from '../../files/engine.js';
import { Plan, sharedFlow } from '../../files/plan.js';
import type { EngineBatch } from '../../files/rows.js';
import { deliverToSink } from '../../flow/deliver-to-sink.js';
import {
  type Batches,
  batchesOf,
  boundFlow,
  type Cursor,
  type Flow,
  identityOf,
  OwnFlow,
  type Pull,
  type Run,
  type SinkRun,
} from '../../flow/flow.js';
import type { Argument } from '../../flow/internals.js';
import { applyStage } from '../../flow/pipeline-arguments.js';
import type { Progress } from '../../flow/progress.js';
import { type CommittedSink, committedResult } from '../committed.js';
import type { CheckpointOwner } from './checkpoint-text.js';
import type { FileSink } from './file-sink.js';
import type { FileSinkRun } from './file-sink-run.js';
import type { RunResult } from './run-result.js';
import type { OpenStore, RunSinksOptions, Session } from './run-sinks.js';
import { ENDED, TeeCommits } from './tee-commits.js';
import { TeeInput } from './tee-input.js';
import { type RowsRun, UncommittedRows } from './uncommitted-rows.js';

export interface TeeBranch {
  readonly position: number;
  readonly stages: readonly Argument[];
  readonly sink: Argument;
}

export interface FileBranch extends TeeBranch {
  readonly file: FileSink;
}

export interface CommittedBranch extends TeeBranch {
  readonly committed: CommittedSink;
}

export interface TeeBranches {
  readonly files: readonly FileBranch[];
  /**
   * The branch that ends in `committed`. If there is one, the text that its option `save` gets is the
   * checkpoint of all branches.
   */
  readonly committed: CommittedBranch | undefined;
  readonly others: readonly TeeBranch[];
}

export interface TeeConfig extends TeeBranches {
  readonly checkpoint: string | undefined;
  readonly damaged: string | undefined;
}

interface OpenBranch {
  /** The number that identifies the branch in `TeeInput` and, if its sink commits, in the checkpoint. */
  readonly number: number;
  readonly branch: TeeBranch;
  readonly progress: Progress | undefined;
  readonly output: AsyncIterable<unknown>;
}

export class TeeRun {
  readonly results: unknown[] = [];
  readonly #config: TeeConfig;
  readonly #input: AsyncIterable<unknown>;
  readonly #run: SinkRun;
  readonly #files: readonly OpenBranch[];
  readonly #rows: OpenBranch | undefined;
  readonly #others: readonly OpenBranch[];
  #uncommitted: UncommittedRows | undefined;
  #started = false;
  /** The engine that reads the input, if any branch accepts rows. */
  #engine: Engine | undefined;
  #readFeed: (number: number, run: Run) => AsyncIterable<EngineBatch> = async function* () {};

  constructor(config: TeeConfig, input: AsyncIterable<unknown>, run: SinkRun) {
    this.#config = config;
    this.#input = input;
    this.#run = run;
    const { files, committed, others } = config;
    const all = [...files, ...(committed === undefined ? [] : [committed]), ...others];
    const progress = all.map(() => run.progress?.branch());
    const branches = all.map((branch, number) => ({
      number,
      branch,
      progress: progress[branch.position - 1],
      output: branch.stages.reduce<AsyncIterable<unknown>>(applyStage, this.#flowOf(number)),
    }));
    this.#files = branches.slice(0, files.length);
    this.#rows = committed && branches[files.length];
    this.#others = branches.slice(this.#committing.length);
  }

  get #committing(): readonly OpenBranch[] {
    return this.#rows === undefined ? this.#files : [...this.#files, this.#rows];
  }

  together(): RunSinksOptions<unknown> {
    const { files, damaged, checkpoint } = this.#config;
    const owner = this.#owner();
    return {
      sinks: this.#files.map(({ number, progress }) => ({
        config: (files[number] as FileBranch).file.config,
        branch: number,
        progress,
      })),
      checkpoint: this.#rows === undefined ? checkpoint : this.#openRows(this.#rows, owner),
      damaged,
      progress: this.#run.progress,
      owner,
      signal: this.#run.signal,
      read: session => this.read(session),
    };
  }

  #owner(): CheckpointOwner {
    const { files } = this.#config;
    // A checkpoint identifies a committing branch by its steps and the settings of its sink. `branch` is the
    // number of the branch that a step or settings belong to.
    const branches = this.#committing.flatMap(({ output, number }) => {
      const settings = files[number]?.file.config.settings ?? { step: 'committed' };
      return [...identityOf(output), settings].map(step => ({ ...step, branch: number + 1 }));
    });
    return {
      sink: { step: 'tee', branches: this.#committing.length },
      flow: [...identityOf(this.#input), ...branches],
    };
  }

  #openRows({ progress }: OpenBranch, owner: CheckpointOwner): OpenStore {
    const { committed, files } = this.#config;
    return async (fs, folder) => {
      const { options } = (committed as CommittedBranch).committed;
      const uncommitted = new UncommittedRows(options, owner, {
        signal: this.#run.signal,
        progress,
      });
      const paths = files.map(({ file }) => String(file.config.settings.path));
      try {
        await uncommitted.lock(fs, folder, paths);
      } catch (error) {
        await uncommitted.close();
        throw error;
      }
      this.#uncommitted = uncommitted;
      return uncommitted;
    };
  }

  async end(result: RunResult): Promise<void> {
    if (!this.#started) await this.#readNothing();
    for (const { number, branch } of this.#files)
      this.results[branch.position - 1] = result.written[number];
    if (this.#rows === undefined || this.#uncommitted === undefined) return;
    const { progress } = this.#run;
    const flow = identityOf(this.#input);
    this.results[this.#rows.branch.position - 1] = committedResult(this.#uncommitted, result, {
      flow,
      progress,
    });
  }

  /** Reads the input to its end, or until all branches have ended. */
  async read(opened: Opened): Promise<Cursor | null | undefined> {
    const { sinkRuns, signal, before, committer, damaged } = opened;
    this.#started = true;
    if (opened.engine !== undefined) this.#uncommitted?.encodeOn(opened.engine);
    const { resume, cursors } = cursorsOf(before?.cursor, this.#committing.length);
    const ended = cursors.map(cursor => cursor === ENDED);
    const stop = new LinkedAbort(signal);
    const { progress } = this.#run;
    const feed = new TeeInput(
      this.#batches({ signal: stop.signal, resume, progress, damaged }, opened),
      [...this.#committing, ...this.#others]
        .map(({ number }) => number)
        .filter(number => ended[number] !== true),
      () => commits?.full(),
    );
    const commits = committer && new TeeCommits(committer, feed, { signal: stop.signal, ended });
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
          // A branch that ends because the source has spent its budget has not failed. The other branches
          // still write all items that the service has sent.
          .catch(error => {
            if (!(isBudgetSpent(error) && isBudgetSpent(feed.failure?.error))) fail(error);
          })
          .finally(() => feed.leave(number)),
      );
    try {
      for (const branch of this.#others) guard(branch, this.#deliverToSink(branch, stop.signal));
      for (const branch of this.#committing) {
        const { number } = branch;
        if (ended[number] === true) continue;
        const write = this.#write(branch, sinkRuns[number], {
          signal: stop.signal,
          resume: cursors[number] as Cursor | undefined,
          damaged: damaged?.ofBranch(),
          reached: async cursor => commits?.reached(number, cursor),
          idle: async () => committer?.idle(),
          fail,
          spent: async cursor => commits?.spent(number, cursor),
        });
        guard(
          branch,
          write.then(end => commits?.ended(number, end)),
        );
      }
      // Reading starts only here. The sinks of all branches have been called by now, so all of their
      // arguments are valid.
      feed.start();
    } catch (error) {
      fail(error);
    }
    await Promise.all(running);
    commits?.close();
    stop.unlink();
    await feed.close();
    const end = commits?.end(before?.cursor);
    if (failure === undefined && isBudgetSpent(feed.failure?.error) && end != null)
      await committer?.commitLast(end);
    failure ??= feed.failure;
    if (failure !== undefined) throw failure.error;
    return end;
  }

  /** Runs the branches that do not commit, without items, because the checkpoint is already complete. */
  async #readNothing(): Promise<void> {
    const { signal = new AbortController().signal } = this.#run;
    for (const branch of this.#others) await this.#deliverToSink(branch, signal);
  }

  #write(
    { output, progress }: OpenBranch,
    sinkRun: FileSinkRun<unknown> | undefined,
    run: RowsRun,
  ): Promise<Cursor | null | undefined> {
    const { signal, resume, damaged, reached, spent } = run;
    const bound = boundFlow(output, { signal, progress });
    if (sinkRun !== undefined)
      return sinkRun.write(bound, { signal, resume, progress, damaged }, reached, spent);
    return (this.#uncommitted as UncommittedRows).write(bound, {
      ...run,
      progress,
    });
  }

  /** @throws OptionError if the function of a branch is not a sink. */
  #deliverToSink({ output, progress, branch }: OpenBranch, signal: AbortSignal): PromiseLike<void> {
    const run = { signal, progress };
    return deliverToSink(boundFlow(output, run), branch.sink, run).then(result => {
      this.results[branch.position - 1] = result;
    });
  }

  /**
   * Returns the input as batches. If a branch accepts rows, the batches contain rows; otherwise, they contain
   * items.
   */
  #batches(pull: Pull, { sinkRuns, engine }: Opened): AsyncIterable<EngineBatch> {
    const plan = Plan.in(this.#input);
    const takesRows = this.#committing.some(({ output, number }) => {
      const sink = number < sinkRuns.length ? sinkRuns[number] : this.#uncommitted;
      return sink?.takesRows === true && Plan.in(output)?.isComplete === true;
    });
    if (plan === undefined || !takesRows || engine?.canRun(this.#input) !== true)
      return batchesOf(this.#input, pull);
    this.#engine = engine;
    const branches = [...this.#committing, ...this.#others].flatMap(
      ({ output }) => Plan.in(output) ?? [],
    );
    return engine.run(plan, pull, branches);
  }

  /** Returns the flow of a branch. The input of the branch is created when the flow is opened. */
  #flowOf(number: number): Flow<unknown> {
    const read = (run: Run) => this.#readFeed(number, run);
    const plan = Plan.in(this.#input);
    // A plan without the stage `activities` is not complete. The batches of the input then have no rows, so
    // the branch does not need the engine.
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

type Opened = Pick<Session<unknown>, 'sinkRuns'> &
  Partial<Pick<Session<unknown>, 'before' | 'committer' | 'damaged' | 'engine'>> & {
    readonly signal: AbortSignal | undefined;
  };

/** Splits a cursor of `tee` into the cursor of the input and the cursors of the committing branches. */
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
