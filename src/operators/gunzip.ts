import { OptionError } from '../errors.js';
import { type Batch, type Batches, batchesOf, Flow, type Operator } from '../flow.js';
import { bytesOf } from './bytes-of.js';
import { freeMemory } from './free-memory.js';
import { BLOCK, GzipFile } from './gzip-file.js';
import { InflateAhead, type InflateAheadOptions, type InflatedPart } from './inflate-ahead.js';
import { takeInflated } from './inflated.js';
import { atLeastOne } from './record-limits.js';
import { workAhead } from './work-ahead.js';

/** Files that begin to inflate while the consumer works on an earlier one. */
const AHEAD = 1;

export interface GunzipOptions {
  /**
   * What to do with a file that is not gzip: fail, or let its bytes through.
   * @default 'refuse'
   */
  readonly plain?: 'refuse' | 'pass' | undefined;
  /**
   * Most bytes that one file may hold once inflated. No more than a few MiB of a large file are ever
   * in memory, whatever this is.
   * @default Infinity
   */
  readonly maxBytes?: number | undefined;
}

/**
 * Inflates gzip, whatever the number of members. Whole files that come as one batch, such as those
 * of `localFiles`, inflate side by side in the thread pool, in order; bytes of a live stream come
 * out as soon as they came in.
 *
 * A file that is cut short, corrupt, or followed by anything but zeros throws a `DataError` with
 * file and byte, after what could be inflated. Where the input has edges, each file must be complete
 * at its own.
 *
 * @example
 * pipeline(localFiles('archive'), gunzip(), jsonLines(), activities(), files({ path: 'all.jsonl' }));
 */
export function gunzip(options: GunzipOptions = {}): Operator<Uint8Array, Buffer> {
  const { plain = 'refuse', maxBytes = Number.POSITIVE_INFINITY } = options;
  if (plain !== 'refuse' && plain !== 'pass')
    throw new OptionError('plain', `Expected \`plain\` to be 'refuse' or 'pass', got ${plain}`);
  atLeastOne('maxBytes', maxBytes);

  return input =>
    new Flow((run, lends) =>
      inflated(batchesOf(input, { ...run, borrows: true }), { plain, maxBytes, lends }),
    );
}

async function* inflated(input: Batches<Uint8Array>, options: InflateOptions): Batches<Buffer> {
  let file: GzipFile | undefined;
  const whole = new WholeFiles(options.maxBytes);
  try {
    for await (const { item: batch, result } of workAhead(input, whole.begin, AHEAD)) {
      const { items, cursor, origin } = batch;
      if (result !== undefined) {
        yield* whole.batches(result, batch, options);
        continue;
      }
      let blocks: Buffer[] = [];
      let size = 0;
      try {
        for (const item of items) {
          file ??= new GzipFile({ ...options, origin });
          for (const block of file.push(bytesOf(item))) {
            blocks.push(block);
            size += block.length;
            if (size < BLOCK) continue;
            yield { items: blocks, origin };
            blocks = [];
            size = 0;
          }
        }
        if (cursor !== undefined) {
          file?.end();
          file?.close();
          file = undefined;
        }
      } catch (error) {
        if (blocks.length > 0) yield { items: blocks, origin };
        throw error;
      }
      if (blocks.length > 0 || cursor !== undefined) yield { items: blocks, cursor, origin };
    }
    file?.end();
  } finally {
    file?.close();
    whole.close();
  }
}

type InflateOptions = Omit<InflateAheadOptions, 'origin'>;

/** Files that came as one batch: it and the one before it both ended at an edge. */
class WholeFiles {
  readonly #maxBytes: number;
  readonly #underWay = new Set<InflateAhead>();
  #atEdge = true;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Begins to inflate a batch that is all of a file, unless a source has done so already. */
  readonly begin = ({
    items,
    cursor,
  }: Batch<Uint8Array>): Promise<InflateAhead | Buffer> | undefined => {
    const whole = this.#atEdge && cursor !== undefined && items.length > 0;
    this.#atEdge = cursor !== undefined || (this.#atEdge && items.length === 0);
    if (!whole) return undefined;
    const known = items.length === 1 ? takeInflated(items[0]!) : undefined;
    if (known !== undefined && known.length <= this.#maxBytes) return Promise.resolve(known);
    const file = items.length === 1 ? bytesOf(items[0]!) : Buffer.concat(items.map(bytesOf));
    if (!InflateAhead.takes(file)) return undefined;
    const ahead = new InflateAhead(file);
    this.#underWay.add(ahead);
    return Promise.resolve(ahead);
  };

  /** What is in it, in blocks; the last one has the cursor that stands after the file. */
  async *batches(
    file: InflateAhead | Buffer,
    { cursor, origin, giveBack }: Batch<Uint8Array>,
    options: InflateOptions,
  ): Batches<Buffer> {
    let last: Batch<Buffer> = { items: [], cursor: undefined, origin, giveBack: undefined };
    try {
      for await (const part of this.#parts(file, { ...options, origin })) {
        if (last.items.length > 0) yield last;
        last = { ...last, items: [part.block], giveBack: part.giveBack };
      }
    } catch (error) {
      if (last.items.length > 0) yield last;
      throw error;
    }
    // A file that is passed as it is lies in its own memory.
    if (!(file instanceof InflateAhead) || file.inflated) giveBack?.();
    yield { ...last, cursor };
  }

  async *#parts(
    file: InflateAhead | Buffer,
    options: InflateAheadOptions,
  ): AsyncGenerator<InflatedPart, void, undefined> {
    if (file instanceof InflateAhead) {
      yield* file.parts(options);
      this.#underWay.delete(file);
    } else yield { block: file, giveBack: options.lends ? () => freeMemory(file) : undefined };
  }

  close(): void {
    for (const file of this.#underWay) file.close();
  }
}
