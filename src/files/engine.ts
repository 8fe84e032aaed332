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
 * Maximum number of posts in a batch. Parsed posts live as long as their batch, so garbage collection would
 * copy the posts of a larger batch.
 */
const ITEMS_A_BATCH = 64;

/**
 * Runs a plan. Decodes whole files in threads, or on the main thread if the input is small or threads are
 * unavailable. Then the steps of the plan decide on the main thread, in the order of the files, which posts
 * pass. A file that cannot be decoded as a whole, such as a damaged file, passes through the stages of the
 * plan instead, which throw the exact error.
 */
export class Engine implements PostEngine {
  readonly #readers: PlanReader[] = [];
  #steps: Steps = [];
  /** The decoder of the running plan. */
  #decoder: FileDecoder | undefined;

  /** Adds a reader, which must happen before `run`. Returns the number of the reader. */
  add(reader: PlanReader): number {
    return this.#readers.push(reader) - 1;
  }

  readsFor(steps: Steps): boolean {
    return (
      steps.every(({ columns = [] }) => columns.length === 0) ||
      steps.every(step => this.#steps.includes(step))
    );
  }

  /** Whether the flow has a complete plan, so that this engine can encode its rows. */
  canRun(input: AsyncIterable<unknown>): boolean {
    const plan = Plan.in(input);
    return plan?.isComplete === true && (plan.shared === undefined || plan.shared.engine === this);
  }

  /** The batches of a flow: rows if the engine can run the plan of the flow, otherwise items. */
  batches(input: AsyncIterable<unknown>, pull: Pull): AsyncIterable<EngineBatch> {
    const plan = Plan.in(input);
    return plan !== undefined && this.canRun(input) ? this.run(plan, pull) : batchesOf(input, pull);
  }

  /**
   * Runs a plan and yields its posts. The reader of a batch with `rows` must release their file.
   *
   * @param branches Plans of branches that share the posts.
   */
  run(plan: Plan, pull: Pull, branches: readonly Plan[] = []): AsyncIterable<EngineBatch> {
    if (plan.shared === undefined) this.#steps = [plan, ...branches].flatMap(({ steps }) => steps);
    const posts = (run: Run) => this.#posts(plan, run);
    const open = (run: Run) => throughSteps(plan.steps, run, posts);
    return { [Symbol.asyncIterator]: () => new FlowRun<EngineBatch, Pull>(open, pull) };
  }

  /** Runs tasks for a file in threads. */
  tasksFor(path: string): RunInThread {
    return (task, input) => this.#decoder?.threads?.run(task, input, path);
  }

  /** Ends the threads. Content that they hold is lost. */
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
    // With a reader of damaged records, the stages must process every file, because only they report damage.
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

/** A source of whole files whose plans this engine runs. */
export interface FilesOfPlan extends PlanSource {
  readonly open: FileSource;
}

export function filesOfPlan(open: FileSource): FilesOfPlan {
  return { open, items: planItems };
}

async function* planItems(plan: Plan, run: Run): Batches<never> {
  const engine = new Engine();
  // No threads are used here: the posts are needed on the main thread anyway, so threads would take
  // more time and memory than inflating in the pool.
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
    // This runs even if the reader stops early, because other readers of the file continue.
    rows.file.leave();
  }
}

/** Delivers the bytes of a file as batches. The last batch has the cursor. */
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

/** A flow from a source of whole files. */
export function fileFlow(open: FileSource, identity: FlowIdentity): Flow<FileBytes> {
  return new OwnFlow(
    async function* (run) {
      for await (const file of open(run, undefined)) yield* bytesOfFile(file) as Batches<FileBytes>;
    },
    { plan: Plan.of(filesOfPlan(open)), identity },
  );
}

/**
 * Several sources as one flow.
 *
 * @param open Reads the sources if the engine cannot run one plan for all of them.
 * @param join Combines sources of whole files, which decides the order of the files.
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
