import { itemsOf, type Rows } from '../../engine/rows.js';
import type { EncodedFile } from './encoded-file.js';
import type { EncodedOutput, EncodedOutputs } from './encoded-outputs.js';
import type { EncodedFormat } from './format.js';
import type { PathTemplate } from './path-template.js';
import { isScattered, listOf, RowPartitions } from './row-partitions.js';

/** Posts that follow each other in one row group. */
interface GroupRange<T> {
  readonly file: EncodedFile<T>;
  /** Where the posts are in the rows. */
  readonly rows: number[];
  /** How many fit into the row group. */
  readonly room: number;
}

/**
 * Adds decoded posts to files that encoders build: decides on the main thread, in order, which row group each goes
 * to, and lets the thread that holds the posts make blocks of them.
 */
export class RowColumns<T> {
  readonly #outputs: EncodedOutputs<T>;
  readonly #format: EncodedFormat<T>;
  readonly #encodingNumber: number;
  readonly #partitions: RowPartitions<EncodedOutput<T>, GroupRange<T>>;

  /** @param encodingNumber What the engine knows its encoding by. */
  constructor(
    outputs: EncodedOutputs<T>,
    path: PathTemplate,
    format: EncodedFormat<T>,
    encodingNumber: number,
  ) {
    this.#outputs = outputs;
    this.#format = format;
    this.#encodingNumber = encodingNumber;
    this.#partitions = new RowPartitions(
      path,
      file => outputs.open(file),
      output => output.file,
    );
  }

  /**
   * Adds posts, and releases their file once nothing needs it. Returns `false`, and has done nothing, where
   * that does not pay, or the posts cannot be partitioned by numbers.
   */
  async write(posts: Rows, origin: string | undefined): Promise<boolean> {
    const { writer, bytes } = posts.file;
    if (writer === undefined) return false;
    const partitioned = this.#partitions.partition(posts, origin);
    if (partitioned === undefined || isScattered(partitioned, bytes)) return false;
    const { combinations, partitions } = partitioned;
    const ranges: GroupRange<T>[] = [];
    for (let index = 0; index < combinations.length; index++) {
      const partition = partitions[combinations[index]!]!;
      let { range } = partition;
      if (range === undefined || range.rows.length === range.room) {
        range = nextRange(range, partition.output);
        partition.range = range;
        ranges.push(range);
      }
      range.rows.push(index);
    }
    const { rows, tags, ends } = listOf(posts, ranges);
    const blocks = writer
      .columns({ rows, tags, tagNames: posts.tagNames }, ends, this.#encodingNumber)
      .then(async made => made ?? Promise.reject(await this.#errorOf(posts)));
    // Nothing needs the content from here on.
    const release = () => posts.file.release();
    blocks.then(release, release);
    this.#outputs.check(blocks);
    for (const [index, { file, rows }] of ranges.entries())
      file.addBlock(
        rows.length,
        blocks.then(all => all[index]!),
      );
    if (this.#outputs.full) await this.#outputs.relieve();
    return true;
  }

  /** The error of the first post that cannot be encoded. */
  async #errorOf(posts: Rows): Promise<unknown> {
    const { origin } = posts.file;
    const encoder = this.#format.encoder();
    for (const item of await itemsOf(posts))
      try {
        encoder.add(item as T, origin);
      } catch (error) {
        return error;
      }
    return new Error(`A thread could not encode the posts of ${origin}`);
  }
}

/** A row group that is full is followed by one of the same file. */
function nextRange<T>(last: GroupRange<T> | undefined, { file }: EncodedOutput<T>): GroupRange<T> {
  return last === undefined
    ? { file, rows: [], room: file.room }
    : { file: last.file, rows: [], room: last.file.maxRoom };
}
