import { DataError } from '../../base/errors.js';
import { type ItemEncoder, ItemEncoding, JoinedBytes } from '../../files/encode-rows.js';
import type { Engine } from '../../files/engine.js';
import type { EngineBatch, StoredRows } from '../../files/rows.js';
import { type Batches, batchesOf, type Pull } from '../../flow/flow.js';
import { internalsOf } from '../../flow/internals.js';
import { workAhead } from '../../flow/read-ahead.js';
import { kindOf } from '../../flow/wrong-item.js';
import { recordOfItem } from './damaged-log.js';
import { EncodedRows } from './held-rows.js';

type Encode = (item: unknown) => unknown;

export interface RowEncoderOptions {
  readonly encode: Encode;
  readonly rows: number;
  readonly workers: number | undefined;
}

/**
 * The size at which a block of encoded rows ends, in bytes. If a thread encodes the block, this is the size
 * of its posts before encoding.
 */
const BLOCK_BYTES = 1 << 20;
/** The maximum total size in bytes of the stored files that may be encoded while earlier rows are written. */
const AHEAD_BYTES = 16 << 20;

/**
 * Encodes the rows of `committed` as blocks. If `encode` was created by a function such as `tables.toCsv`,
 * threads encode the posts of the stored files that they have decoded. All other items are encoded on the
 * main thread.
 */
export class RowEncoder {
  readonly #engine: Engine;
  readonly #maxRows: number;
  readonly #encoder: ItemEncoder;
  /** The index that `engine.add` returned for `encode`; `undefined` if threads cannot run `encode`. */
  readonly #encoding: number | undefined;

  constructor(engine: Engine, { encode, rows, workers }: RowEncoderOptions) {
    const { encoding } = internalsOf(encode);
    const known = encoding instanceof ItemEncoding ? encoding : undefined;
    this.#engine = engine;
    this.#maxRows = rows;
    this.#encoder = known?.encoder() ?? new FunctionEncoder(encode);
    this.#encoding = known?.rows && engine.add({ workers, encoding: known.rows });
  }

  get takesRows(): boolean {
    return this.#encoding !== undefined;
  }

  batches(input: AsyncIterable<unknown>, pull: Pull): Batches<EncodedRows> {
    const encoding = this.#encoding;
    // If damaged records are logged, each damaged item must be logged before the cursor after that item.
    // Therefore, the items are encoded one batch after the other, on the main thread.
    if (encoding === undefined || pull.damaged !== undefined || !this.#engine.canRun(input))
      return this.#encodeInTurn(input, pull);
    return this.#encodeAhead(this.#engine.batches(input, pull), encoding);
  }

  async *#encodeInTurn(input: AsyncIterable<unknown>, pull: Pull): Batches<EncodedRows> {
    const { damaged, progress } = pull;
    const stage = damaged?.stage();
    const leaveOut = async (item: unknown, error: unknown, origin: string | undefined) => {
      if (stage === undefined) throw error;
      await stage.keep(recordOfItem(item, error, origin), error);
      progress?.drop('damaged', 1);
    };
    for await (const { items, cursor, origin } of batchesOf(input, pull)) {
      const encoded = await this.#encodeItems(items, origin, leaveOut);
      if (cursor !== undefined) stage?.reached(cursor);
      yield { items: encoded, cursor, origin };
    }
  }

  async *#encodeAhead(input: AsyncIterable<EngineBatch>, encoding: number): Batches<EncodedRows> {
    const ahead = workAhead(
      input,
      ({ rows }) => (rows?.file.isInThread ? this.#encodeInThread(rows, encoding) : undefined),
      AHEAD_BYTES,
      ({ rows }) => rows?.file.bytes ?? AHEAD_BYTES,
    );
    for await (const { item: batch, result } of ahead) {
      const { cursor, origin } = batch;
      yield { items: result ?? (await this.#encodeHere(batch)), cursor, origin };
    }
  }

  async #encodeInThread(rows: StoredRows, encoding: number): Promise<readonly EncodedRows[]> {
    const { rows: numbers, tags, tagNames, file } = rows;
    const list = { rows: numbers, tags, tagNames };
    const blocks = await rows.encode(list, this.#endsOf(rows), encoding, items =>
      this.#encodeItems(items, file.origin),
    );
    return blocks.map(({ rows, parts }) => {
      const { buffer, byteOffset, byteLength } = parts[0]!;
      return new EncodedRows(rows, Buffer.from(buffer, byteOffset, byteLength));
    });
  }

  /** Returns the index after the last row of each block. */
  #endsOf({ rows, bounds: { lengths } }: StoredRows): readonly number[] {
    const ends: number[] = [];
    let start = 0;
    let bytes = 0;
    for (let index = 0; index < rows.length; index++) {
      bytes += lengths[rows[index]!]!;
      if (bytes < BLOCK_BYTES && index + 1 - start < this.#maxRows) continue;
      start = index + 1;
      bytes = 0;
      ends.push(start);
    }
    if (start < rows.length) ends.push(rows.length);
    return ends;
  }

  async #encodeHere({ rows, items, origin }: EngineBatch): Promise<readonly EncodedRows[]> {
    if (rows === undefined) return this.#encodeItems(items, origin);
    const encoded = await this.#encodeItems(await rows.items(), origin);
    rows.file.release();
    return encoded;
  }

  /**
   * @param leaveOut Called with each item that cannot be encoded. Without it, the error of the item is
   * thrown.
   */
  async #encodeItems(
    items: readonly unknown[],
    origin: string | undefined,
    leaveOut?: (item: unknown, error: unknown, origin: string | undefined) => Promise<void>,
  ): Promise<readonly EncodedRows[]> {
    const encoder = this.#encoder;
    const blocks: EncodedRows[] = [];
    let rows = 0;
    for (const item of items) {
      try {
        encoder.add(item, origin);
      } catch (error) {
        if (leaveOut === undefined) throw error;
        await leaveOut(item, error, origin);
        continue;
      }
      rows++;
      if (rows < this.#maxRows && encoder.byteLength < BLOCK_BYTES) continue;
      blocks.push(new EncodedRows(rows, encoder.take()));
      rows = 0;
    }
    if (rows > 0) blocks.push(new EncodedRows(rows, encoder.take()));
    return blocks;
  }
}

class FunctionEncoder implements ItemEncoder {
  readonly #encode: Encode;
  readonly #encoded = new JoinedBytes();

  constructor(encode: Encode) {
    this.#encode = encode;
  }

  get byteLength(): number {
    return this.#encoded.byteLength;
  }

  add(item: unknown): void {
    const bytes = this.#encode(item);
    if (typeof bytes === 'string') this.#encoded.add(Buffer.from(bytes));
    // The bytes are copied, because the caller may write the next item to the same memory.
    else if (bytes instanceof Uint8Array) this.#encoded.add(Buffer.from(bytes));
    else
      throw new DataError(
        `The option \`encode\` must return text or bytes, but returned ${kindOf(bytes)}`,
      );
  }

  take(): Buffer {
    return this.#encoded.take();
  }
}
