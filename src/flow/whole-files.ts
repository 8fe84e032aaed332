import { freeMemory } from '../gzip/free-memory.js';
import type { InflateLimits } from '../gzip/gzip-file.js';
import { InflateAhead, type InflatedPart } from '../gzip/inflate-ahead.js';
import { takeInflated } from '../gzip/inflated.js';
import { bytesOf } from './bytes-of.js';
import type { Batch, Batches } from './flow.js';

/** Files that begin to inflate while the consumer works on an earlier one. */
const AHEAD = 1;
const LENT_AHEAD = 2;

/** A gzip file that is being inflated, or what one holds where a source has inflated it. */
type Whole = InflateAhead | Buffer;

/** Gzip files that came as one batch: it and the one before it both ended at an edge. */
export class WholeFiles {
  readonly #limits: InflateLimits;
  readonly #lends: boolean;
  readonly #underWay = new Set<InflateAhead>();
  #atEdge = true;

  /** @param lends Whether whoever reads the blocks gives them back. */
  constructor(limits: InflateLimits, lends: boolean) {
    this.#limits = limits;
    this.#lends = lends;
  }

  /** How many to begin ahead: memory that comes back at once can be more. */
  get ahead(): number {
    return this.#lends ? LENT_AHEAD : AHEAD;
  }

  /** Begins to inflate a batch that is all of a file, unless a source has done so already. */
  readonly begin = ({ items, cursor }: Batch<Uint8Array>): Promise<Whole> | undefined => {
    const whole = this.#atEdge && cursor !== undefined && items.length > 0;
    this.#atEdge = cursor !== undefined || (this.#atEdge && items.length === 0);
    if (!whole) return undefined;
    const known = items.length === 1 ? takeInflated(items[0]!) : undefined;
    if (known !== undefined && known.length <= this.#limits.maxBytes) return Promise.resolve(known);
    const file = items.length === 1 ? bytesOf(items[0]!) : Buffer.concat(items.map(bytesOf));
    if (!InflateAhead.takes(file)) return undefined;
    const ahead = new InflateAhead(file, this.#lends);
    this.#underWay.add(ahead);
    return Promise.resolve(ahead);
  };

  /** What is in it, in blocks; the last one has the cursor that stands after the file. */
  async *batches(file: Whole, { cursor, origin, giveBack }: Batch<Uint8Array>): Batches<Buffer> {
    let last: Batch<Buffer> = { items: [], cursor: undefined, origin, giveBack: undefined };
    try {
      for await (const part of this.#parts(file, origin)) {
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

  close(): void {
    for (const file of this.#underWay) file.close();
  }

  async *#parts(
    file: Whole,
    origin: string | undefined,
  ): AsyncGenerator<InflatedPart, void, undefined> {
    if (file instanceof InflateAhead) {
      yield* file.parts({ ...this.#limits, origin });
      this.#underWay.delete(file);
    } else yield { block: file, giveBack: this.#lends ? () => freeMemory(file) : undefined };
  }
}
