import {
  type Batch,
  type Batches,
  batchesOf,
  type Flow,
  type FlowIdentity,
  OwnFlow,
  type Pull,
  type Run,
} from '../flow/flow.js';
import { FlowRun } from '../flow/flow-run.js';
import type { FileBytes } from '../json/records.js';
import type { FileSource, SourceFile } from './file-source.js';
import { Plan, type PlanSource, type PostEngine, plannedFlow, type Unplanned } from './plan.js';
import type { RecordColumn, RunInThread } from './record-columns.js';
import { asItems, type EngineBatch, StoredRows } from './rows.js';
import { type Steps, throughSteps } from './step.js';
import { FileDecoder, type PlanReader } from './thread-pool.js';

/**
 * The maximum number of posts in a batch. Parsed posts live as long as their batch. With larger
 * batches, more posts would survive garbage collections, which copy the survivors.
 */
const ITEMS_A_BATCH = 64;

/**
 * Runs a plan, which describes the built-in stages of a flow that reads whole files. Decodes the files in
 * threads, or on the main thread if the input is small or threads are unavailable. Then the steps of the plan
 * select posts on the main thread, in the order of the files. A file that cannot be decoded in one piece, for
 * example because it is damaged, goes through the stages in blocks. They throw the exact error.
 */
export class Engine implements PostEngine {
  readonly #readers: PlanReader[] = [];
  #steps: Steps = [];
  #decoder: FileDecoder | undefined;

  /** Adds a reader of the plan's posts, such as a sink. Call this before `run`. Returns the reader's index. */
  add(reader: PlanReader): number {
    return this.#readers.push(reader) - 1;
  }

  readsFor(steps: Steps): boolean {
    return (
      steps.every(({ columns = [] }) => columns.length === 0) ||
      steps.every(step => this.#steps.includes(step))
    );
  }

  /**
   * Whether this engine can write or encode the rows of a flow. The flow needs a complete plan. If
   * branches of `tee` share that plan, this engine must be the one that runs it.
   */
  canRun(input: AsyncIterable<unknown>): boolean {
    const plan = Plan.in(input);
    return plan?.isComplete === true && (plan.shared === undefined || plan.shared.engine === this);
  }

  /**
   * Returns the batches of a flow. If the engine can run the flow's plan, they contain rows of decoded files,
   * otherwise items.
   */
  batches(input: AsyncIterable<unknown>, pull: Pull): AsyncIterable<EngineBatch> {
    const plan = Plan.in(input);
    return plan !== undefined && this.canRun(input) ? this.run(plan, pull) : batchesOf(input, pull);
  }

  /**
   * Runs a plan and yields its posts. If a batch has `rows`, the reader must release their file.
   *
   * @param branches The plans of the branches that share the posts of this plan.
   */
  run(plan: Plan, pull: Pull, branches: readonly Plan[] = []): AsyncIterable<EngineBatch> {
    if (plan.shared === undefined) this.#steps = [plan, ...branches].flatMap(({ steps }) => steps);
    const posts = (run: Run) => this.#posts(plan, run);
    const open = (run: Run) => throughSteps(plan.steps, run, posts);
    return { [Symbol.asyncIterator]: () => new FlowRun<EngineBatch, Pull>(open, pull) };
  }

  /**
   * Returns a function that runs tasks in threads.
   *
   * @param path The path of the output file, for error messages.
   */
  tasksFor(path: string): RunInThread {
    return (task, input) => this.#decoder?.threads?.run(task, input, path);
  }

  /** Ends the threads. Content that the threads still hold is lost. */
  async close(): Promise<void> {
    await this.#decoder?.threads?.close();
  }

  async *#posts(plan: Plan, run: Run): AsyncGenerator<EngineBatch, void, undefined> {
    const { progress } = run;
    const { shared, steps } = plan;
    if (shared !== undefined) {
      for await (const batch of shared.read(run))
        yield shared.engine?.readsFor(steps) === true ? batch : await asItems(batch);
      return;
    }
    // If a sink collects damaged records, whole files are not decoded. Only the stages report damaged
    // records.
    if (run.damaged === undefined) this.#decoder = this.#decoderOf(plan);
    const { open } = plan.begin() as FilesOfPlan;
    for await (const file of open(run, this.#decoder)) {
      const { decoded, cursor, origin } = file;
      if (decoded === undefined) yield* plan.postsOf(bytesOfFile(file), run) as Batches<unknown>;
      else {
        progress?.drop('messages', decoded.messages.length);
        yield { rows: StoredRows.of(decoded), cursor, origin };
      }
    }
  }

  #decoderOf({ decoding }: Plan): FileDecoder {
    const readers = this.#readers;
    // Columns are read in the order of the steps, because one step may replace records before the
    // next column is read.
    const columns = new Set<RecordColumn>(
      [...this.#steps, ...readers].flatMap(one => one.columns ?? []),
    );
    const encodings = readers.map(({ encoding }) => encoding);
    return new FileDecoder({ decoding, columns: [...columns], encodings }, readers);
  }
}

export interface FilesOfPlan extends PlanSource {
  readonly open: FileSource;
}

export function filesOfPlan(open: FileSource): FilesOfPlan {
  return { open, items: planItems };
}

async function* planItems(plan: Plan, run: Run): Batches<never> {
  const engine = new Engine();
  // Decodes without threads. The posts are needed on the main thread anyway. Threads would take
  // more time and memory than Node's thread pool, which inflates the files.
  engine.add({ isHere: true });
  try {
    for await (const batch of engine.run(plan, run)) yield* inSmallBatches(batch);
  } finally {
    await engine.close();
  }
}

async function* inSmallBatches(batch: EngineBatch): Batches<never> {
  if (batch.rows === undefined) {
    yield batch as Batch<never>;
    return;
  }
  const { rows, cursor, origin } = batch;
  const end = rows.count;
  let from = 0;
  try {
    do {
      const to = Math.min(from + ITEMS_A_BATCH, end);
      const items = (await rows.slice(from, to).items()) as never[];
      yield { items, cursor: to === end ? cursor : undefined, origin };
      from = to;
    } while (from < end);
  } finally {
    // This also runs if the reader stops early. `leave` does not free the file's content on the main thread,
    // because the reader may still use posts in it.
    rows.file.leave();
  }
}

/** Delivers the bytes of a file in batches. The last batch has the cursor after the file. */
export async function* bytesOfFile({
  blocks,
  cursor,
  origin,
}: SourceFile): AsyncGenerator<Batch<Uint8Array>, void, undefined> {
  let last: Uint8Array | undefined;
  for await (const block of blocks ?? []) {
    if (last !== undefined) yield { items: [last], origin };
    last = block;
  }
  yield { items: last === undefined ? [] : [last], cursor, origin };
}

export function fileFlow(open: FileSource, identity: FlowIdentity): Flow<FileBytes> {
  return new OwnFlow(
    async function* (run) {
      for await (const file of open(run, undefined)) yield* bytesOfFile(file) as Batches<FileBytes>;
    },
    { plan: Plan.of(filesOfPlan(open)), identity },
  );
}

/**
 * Combines several sources into one flow.
 *
 * @param open Reads the sources if the engine cannot run one plan for all of them.
 * @param join Combines the files of all sources into one source for that plan, and decides their order.
 */
export function joinedFlow<T>(
  sources: readonly AsyncIterable<unknown>[],
  {
    join,
    ...unplanned
  }: Unplanned<T> & { readonly join: (open: readonly FileSource[]) => FileSource },
): Flow<T> {
  return plannedFlow(
    sources,
    Plan.joined(sources, parts => filesOfPlan(join(parts.map(part => (part as FilesOfPlan).open)))),
    unplanned,
  );
}
