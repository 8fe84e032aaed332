import fc from 'fast-check';
import {
  type Batch,
  type Flow,
  type Operator,
  operator,
  type Sink,
} from '../../../src/flow/flow.js';
import { pipeline } from '../../../src/flow/pipeline.js';
import { compose } from '../../../src/operators/compose.js';
import { dedupe } from '../../../src/operators/dedupe.js';
import { filter } from '../../../src/operators/filter.js';
import { mapAsync } from '../../../src/operators/map-async.js';
import { take } from '../../../src/operators/take.js';
import { tap } from '../../../src/operators/tap.js';
import { fileSinkConfig, fileSinkOn } from '../../../src/sinks/commit/file-sink.js';
import type { Written } from '../../../src/sinks/commit/run-result.js';
import { type FilesOptions, filesOn } from '../../../src/sinks/files.js';
import { tee } from '../../../src/sinks/tee.js';
import { SimulatedDisk } from '../../storage/simulated-disk.js';
import { unchecked } from '../../unchecked.js';
import { places } from '../cursors.js';

export const CHECKPOINT = '/run.json';

export interface State {
  readonly state: string;
  readonly cursor: { readonly tee: readonly unknown[]; readonly inner: { next: number } } | null;
  readonly files: readonly { readonly branch: number; readonly posts: number }[];
}

export function stateOf(disk: SimulatedDisk): State | undefined {
  return disk.files().includes(CHECKPOINT)
    ? (JSON.parse(disk.read(CHECKPOINT).toString()) as State)
    : undefined;
}

export function contentOf(disk: SimulatedDisk, folder: string): Record<string, string> {
  const names = disk.files().filter(name => name.startsWith(`${folder}/`));
  return Object.fromEntries(names.map(name => [name, disk.read(name).toString()]));
}

export async function untilCommitted(disk: SimulatedDisk, next: number): Promise<void> {
  while (stateOf(disk)?.cursor?.inner.next !== next) await new Promise(setImmediate);
}

/**
 * An encoder of numbers that does not support appending to its file. Each flush writes all numbers
 * so far, and a dot ends the file.
 */
class Sum {
  #items: number[] = [];
  full = false;

  add({ item }: { readonly item: number; readonly byteLength: number }) {
    this.#items.push(item);
  }

  get heldBytes() {
    return this.#items.length * 10;
  }

  flush() {
    return [Buffer.from(this.#items.splice(0).join())];
  }

  end() {
    return [...this.flush(), Buffer.from('.')];
  }
}

export function sumsOn(
  disk: SimulatedDisk,
  { maxBytes }: { readonly maxBytes?: number } = {},
): Sink<number, Written> {
  return fileSinkOn<number>(
    disk,
    fileSinkConfig<number>(
      'sums',
      unchecked({
        path: '/sums/x',
        checkpoint: undefined,
        maxBytes,
        maxOpen: 8,
        maxOutputs: undefined,
        commitIntervalMs: undefined,
      }),
      {
        format: () => ({
          encode: item => ({ item, byteLength: 0 }),
          encoder: () => new Sum(),
          wholeFiles: { maxHeldBytes: 1_000, committedBytes: 1 << 20, committedItems: 1_000 },
        }),
        settings: {},
        takesFunctions: false,
      },
    ),
  );
}

/** Holds back each batch, together with its cursor, until this many later batches have arrived. */
export function delay(batches: number): Operator<number, number> {
  return operator(async function* (input) {
    const held: Batch<number>[] = [];
    for await (const batch of input) {
      held.push(batch);
      if (held.length > batches) yield held.shift() as Batch<number>;
    }
    yield* held;
  });
}

export function fewCursors(every: number): Operator<number, number> {
  return operator(async function* (input) {
    let count = 0;
    for await (const { items, cursor } of input)
      yield cursor !== undefined && ++count % every === 0 ? { items, cursor } : { items };
  });
}

const STAGES: Readonly<Record<string, (n: number) => Operator<number, number>>> = {
  filter: n => filter(item => item % (n + 1) === 0),
  dedupe: n => dedupe({ key: item => String(item), window: n * 5 }),
  take: n => take(n * 4),
  delay,
  fewCursors,
  mapAsync: n => mapAsync(async item => item, { concurrency: n }),
  same: () => tap(() => {}),
};

export interface TestBranch {
  readonly stages: readonly (readonly [string, number])[];
  readonly options: Partial<FilesOptions<number>>;
}

export function stagesOf({ stages }: TestBranch): Operator<number, number> {
  const made = stages.map(([name, n]) =>
    (STAGES[name] as (n: number) => Operator<number, number>)(n),
  );
  return input =>
    made.reduce<AsyncIterable<number>>((flow, stage) => stage(flow), input) as Flow<number>;
}

export function branchOf(disk: SimulatedDisk, branch: TestBranch, index: number) {
  const path = (item: number) => `/${index}/${item % 3}`;
  return compose(
    stagesOf(branch),
    filesOn<number>(disk, { path, commitIntervalMs: 0, ...branch.options }),
  );
}

export async function alone(
  branch: TestBranch,
  index: number,
  batches: readonly (readonly number[])[],
): Promise<Record<string, string>> {
  const disk = new SimulatedDisk();
  const flow = stagesOf(branch)(places(batches));
  const path = (item: number) => `/${index}/${item % 3}`;
  await pipeline(flow, filesOn<number>(disk, { path, ...branch.options }));
  return contentOf(disk, `/${index}`);
}

export const linesIn = (content: Record<string, string>) =>
  Object.values(content).join('').split('\n').length - 1;

export const anyBranch: fc.Arbitrary<TestBranch> = fc.record({
  stages: fc.array(
    fc.tuple(fc.constantFrom(...Object.keys(STAGES)), fc.integer({ min: 1, max: 4 })),
    { maxLength: 3 },
  ),
  options: fc.constantFrom({}, {}, { maxBytes: 12 }),
});

/** `tee` without its types, which require a fixed number of branches. */
export const teeOf = tee as (...args: unknown[]) => Sink<number, unknown>;
