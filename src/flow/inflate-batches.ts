import type { InflateLimits } from '../gzip/gzip-file.js';
import { InflateAhead, type InflatedPart } from '../gzip/inflate-ahead.js';
import { releaseMemory } from '../gzip/release-memory.js';
import { SniffedFile } from '../gzip/sniffed-file.js';
import { isZstd } from '../gzip/zstd-frames.js';
import { bytesOf } from './bytes-of.js';
import type { InternalBatch, InternalBatches } from './internal-flow.js';
import { workAhead } from './work-ahead.js';

/** Files that inflate while the consumer works on an earlier one. */
const AHEAD = 1;
/** The same where the reader releases memory, so that more files fit. */
const RELEASED_AHEAD = 2;

/**
 * Inflates the gzip and zstd files of a flow, see `gunzip`. A file that comes as one batch inflates
 * in the thread pool, ahead of its turn; others inflate on this thread as their bytes come.
 *
 * @param releases Whether the reader of the blocks calls their `release`.
 */
export async function* inflateBatches(
  input: InternalBatches<Uint8Array>,
  limits: InflateLimits,
  releases: boolean,
): InternalBatches<Buffer> {
  let file: SniffedFile | undefined;
  const whole = new WholeFiles(limits, releases);
  const ahead = releases ? RELEASED_AHEAD : AHEAD;
  try {
    for await (const { item: batch, result } of workAhead(input, whole.begin, ahead)) {
      const { items, cursor, origin } = batch;
      if (batch.scanned !== undefined) {
        yield { ...batch, items: [] };
        continue;
      }
      if (result !== undefined) {
        yield* whole.batches(result, batch);
        continue;
      }
      let last: readonly Buffer[] = [];
      try {
        for (const item of items) {
          file ??= new SniffedFile({ ...limits, origin });
          for await (const blocks of file.push(bytesOf('gunzip', item, origin))) {
            if (last.length > 0) yield { items: last, origin };
            last = blocks;
          }
        }
        if (cursor !== undefined) {
          for (const blocks of file?.end() ?? []) last = blocks;
          file?.close();
          file = undefined;
        }
      } catch (error) {
        if (last.length > 0) yield { items: last, origin };
        throw error;
      }
      if (last.length > 0 || cursor !== undefined) yield { items: last, cursor, origin };
    }
    for (const items of file?.end() ?? []) yield { items };
  } finally {
    file?.close();
    whole.close();
  }
}

/** A gzip file that is being inflated, or the content that its source has inflated. */
type WholeFile = InflateAhead | Buffer;

/** The files that came as one batch: that batch, and the one before it, ended with a cursor. */
class WholeFiles {
  readonly #limits: InflateLimits;
  readonly #releases: boolean;
  readonly #underWay = new Set<InflateAhead>();
  #atStart = true;

  constructor(limits: InflateLimits, releases: boolean) {
    this.#limits = limits;
    this.#releases = releases;
  }

  /** Begins to inflate a batch that is a whole file. */
  readonly begin = ({
    items,
    cursor,
    origin,
    inflated,
  }: InternalBatch<Uint8Array>): Promise<WholeFile> | undefined => {
    const whole = this.#atStart && cursor !== undefined && items.length > 0;
    this.#atStart = cursor !== undefined || (this.#atStart && items.length === 0);
    if (!whole) return undefined;
    if (inflated !== undefined && inflated.length <= this.#limits.maxBytes)
      return Promise.resolve(inflated);
    const parts = items.map(item => bytesOf('gunzip', item, origin));
    const file = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
    if (!InflateAhead.takes(file) || isZstd(file) === true) return undefined;
    const ahead = new InflateAhead(file, this.#releases);
    this.#underWay.add(ahead);
    return Promise.resolve(ahead);
  };

  /** The content in blocks; the last one has the cursor. */
  async *batches(
    file: WholeFile,
    { cursor, origin, release }: InternalBatch<Uint8Array>,
  ): InternalBatches<Buffer> {
    let last: InternalBatch<Buffer> = { items: [], cursor: undefined, origin };
    try {
      for await (const part of this.#parts(file, origin)) {
        if (last.items.length > 0) yield last;
        last = { ...last, items: [part.block], release: part.release };
      }
    } catch (error) {
      if (last.items.length > 0) yield last;
      throw error;
    }
    // Where plain bytes pass as they are, the blocks are views of the file.
    if (!(file instanceof InflateAhead) || file.inflated) release?.();
    yield { ...last, cursor };
  }

  close(): void {
    for (const file of this.#underWay) file.close();
  }

  async *#parts(
    file: WholeFile,
    origin: string | undefined,
  ): AsyncGenerator<InflatedPart, void, undefined> {
    if (file instanceof InflateAhead) {
      yield* file.parts({ ...this.#limits, origin });
      this.#underWay.delete(file);
    } else yield { block: file, release: this.#releases ? () => releaseMemory(file) : undefined };
  }
}
