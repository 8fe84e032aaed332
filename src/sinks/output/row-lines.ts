import type { RowWriting } from '../../engine/decoded-file.js';
import type { Encoding } from '../../engine/encode-rows.js';
import { itemsOf, type Rows } from '../../engine/rows.js';
import type { RecordFormat } from './format.js';
import type { PathTemplate } from './path-template.js';
import type { RecordFile } from './record-file.js';
import type { RecordOutput, RecordOutputs } from './record-outputs.js';
import { isScattered, listOf, type Partitioned, RowPartitions } from './row-partitions.js';

/** Files that one command to a thread writes. */
const FILES_AT_A_TIME = 32;
/** A range of an output file, and the posts in it. */
interface RowRange<T> {
  readonly file: RecordFile<T>;
  readonly position: number;
  bytes: number;
  /** Where the posts are in the rows. */
  readonly rows: number[];
}

/**
 * Writes decoded posts: decides on the main thread, in order, which file each goes to, and lets the thread that
 * holds the posts write their lines there, or encode them in blocks. Where that does not pay, the main thread
 * collects the lines.
 */
export class RowLines<T> {
  readonly #outputs: RecordOutputs<T>;
  readonly #partitions: RowPartitions<RecordOutput<T>, RowRange<T>>;
  readonly #format: RecordFormat<T>;
  readonly #encoding: Encoding;
  readonly #encodingNumber: number;
  readonly #filesAtATime: number;

  constructor(
    outputs: RecordOutputs<T>,
    {
      path,
      maxOpen,
      format,
      encoding,
      encodingNumber,
    }: {
      readonly path: PathTemplate;
      readonly maxOpen: number;
      readonly format: RecordFormat<T>;
      readonly encoding: Encoding;
      /** What the engine knows it by. */
      readonly encodingNumber: number;
    },
  ) {
    this.#outputs = outputs;
    this.#partitions = new RowPartitions(
      path,
      file => outputs.open(file),
      output => output.fileFor(0),
    );
    this.#format = format;
    this.#encoding = encoding;
    this.#encodingNumber = encodingNumber;
    this.#filesAtATime = Math.min(FILES_AT_A_TIME, maxOpen);
  }

  /**
   * Writes the lines of posts, and releases their file once nothing needs it any more. Returns `false`, and has done
   * nothing, where the posts cannot be partitioned by numbers.
   */
  async write(posts: Rows, origin: string | undefined): Promise<boolean> {
    const partitioned = this.#partitions.partition(posts, origin);
    if (partitioned === undefined) return false;
    const { file } = posts;
    const { writer } = file;
    const { rows, compression } = this.#encoding;
    const isCollected = writer === undefined || isScattered(partitioned, file.bytes);
    if (isCollected && rows.kind !== 'lines') return false;
    if (isCollected) await this.#collect(posts, partitioned);
    else if (rows.kind === 'lines' && compression === undefined)
      this.#writeRanges(writer, posts, rangesOf(posts, partitioned, true)).then(() =>
        file.release(),
      );
    else {
      this.#encode(writer, posts, rangesOf(posts, partitioned, rows.kind === 'lines'));
      if (this.#outputs.full) await this.#outputs.relieve();
    }
    return true;
  }

  /** Lets the thread encode the posts of each range as a block. */
  #encode(writer: RowWriting, posts: Rows, ranges: readonly RowRange<T>[]): void {
    const { rows, tags, ends } = listOf(posts, ranges);
    const list = { rows, tags, tagNames: posts.tagNames };
    const blocks = writer.encode(list, ends, this.#encodingNumber).then(async encoded => {
      if (encoded === undefined) throw await this.#errorOf(posts);
      for (const { bytes } of encoded) this.#outputs.buffers.hold(bytes.length);
      return encoded;
    });
    // Nothing needs the content any more; a failure ends the run through the outputs.
    blocks.then(
      () => posts.file.release(),
      () => posts.file.release(),
    );
    const isSized = this.#encoding.rows.kind === 'lines';
    for (const [index, range] of ranges.entries()) {
      const block = blocks.then(all => {
        const { bytes, lineBytes } = all[index]!;
        // Where the size of the lines is known, it was counted when they were allocated.
        return { bytes, lineBytes: isSized ? 0 : lineBytes };
      });
      block.catch(() => {});
      range.file.addEncoded(range.rows.length, block);
    }
  }

  /** The error of the first post that cannot be encoded. */
  async #errorOf(posts: Rows): Promise<unknown> {
    const { origin } = posts.file;
    for (const item of await itemsOf(posts))
      try {
        this.#format.encode(item as T, origin);
      } catch (error) {
        return error;
      }
    return new Error(`A thread could not encode the posts of ${origin}`);
  }

  /** Collects the lines on the main thread. */
  async #collect(
    { file, rows }: Rows,
    { combinations, partitions }: Partitioned<RecordOutput<T>, RowRange<T>>,
  ) {
    const content = await file.content();
    const { starts, lengths } = file.fields;
    for (let index = 0; index < rows.length; index++) {
      const start = starts[rows[index]!]!;
      const line = content.subarray(start, start + lengths[rows[index]!]!);
      partitions[combinations[index]!]!.output.addRecord(line);
      if (this.#outputs.full) await this.#outputs.relieve();
    }
    file.release();
  }

  /** Lets the thread write the lines. Never rejects: a failure ends the run through the outputs. */
  async #writeRanges(writer: RowWriting, posts: Rows, ranges: readonly RowRange<T>[]) {
    const writes: Promise<void>[] = [];
    for (let at = 0; at < ranges.length; at += this.#filesAtATime) {
      const some = ranges.slice(at, at + this.#filesAtATime);
      const counted = some.map(range => ({ ...range, posts: range.rows.length }));
      const { rows, ends } = listOf(posts, some);
      const write = (fds: readonly number[]) =>
        writer.write(
          rows,
          some.map(({ position }, index) => ({
            fd: fds[index]!,
            position,
            from: ends[index - 1] ?? 0,
            to: ends[index]!,
          })),
        );
      writes.push(this.#outputs.writeRanges(counted, write));
    }
    await Promise.all(writes);
  }
}

/**
 * Allocates a range for each post in its file; posts that follow each other in one file are one range.
 *
 * @param isSized Whether a post takes the bytes of its line. Where that is not known, a file has one range.
 */
function rangesOf<T>(
  { file, rows }: Rows,
  { combinations, partitions }: Partitioned<RecordOutput<T>, RowRange<T>>,
  isSized: boolean,
): RowRange<T>[] {
  const { lengths } = file.fields;
  const ranges: RowRange<T>[] = [];
  for (let index = 0; index < rows.length; index++) {
    const byteLength = isSized ? lengths[rows[index]!]! : 0;
    const partition = partitions[combinations[index]!]!;
    const target = partition.output.fileFor(byteLength);
    const position = isSized ? target.allocate(byteLength) : 0;
    let { range } = partition;
    if (range?.file !== target || range.position + range.bytes !== position) {
      range = { file: target, position, bytes: 0, rows: [] };
      partition.range = range;
      ranges.push(range);
    }
    if (isSized) range.bytes += byteLength + 1;
    range.rows.push(index);
  }
  return ranges;
}
