import type { RowEncoding } from '../../files/encode-rows.js';
import type { RecordColumn } from '../../files/record-columns.js';
import type { StoredRows } from '../../files/rows.js';
import type { FileFormat } from './format.js';
import type { NumberedFiles } from './numbered-files.js';
import type { OutputFile } from './output-file.js';
import type { Outputs } from './outputs.js';
import type { PathKeys } from './path-keys.js';
import { type PathTemplate, untagged } from './path-template.js';

/** The maximum number of files that a thread writes in one call. */
const FILES_AT_A_TIME = 32;
/**
 * If the posts of a stored file go to more than `MANY_FILES` files, with fewer than `FEW_BYTES` bytes per
 * file, the main thread collects the lines and writes the files.
 */
const MANY_FILES = 64;
const FEW_BYTES = 16 * 1024;
/**
 * The maximum number of combinations of a tag and the values of path fields. Each combination is stored as a
 * 32-bit number.
 */
const MAX_COMBINATIONS = 2 ** 32;

/**
 * Posts that are adjacent in an output file. They are written as lines from `position` on, or encoded as one
 * block.
 */
interface Range {
  readonly file: OutputFile;
  readonly position: number;
  bytes: number;
  /** The positions of these posts in `StoredRows.rows`. */
  readonly rows: number[];
  readonly room: number;
}

/**
 * The posts that go to one file. If the size of files is limited, further posts go to the next numbered
 * files.
 */
interface Partition {
  readonly output: NumberedFiles;
  /** The last range of this file. The next post is added to it if the two are adjacent in the file. */
  range: Range | undefined;
}

interface Partitioned {
  /**
   * For each post, the index of its partition in `partitions`. The tag of the post and its values for the
   * fields of the path template determine this index.
   */
  readonly combinations: Uint32Array;
  readonly partitions: readonly Partition[];
  readonly files: number;
}

interface RowWriterOptions<T> {
  readonly path: PathTemplate;
  readonly maxOpen: number;
  readonly format: FileFormat<T>;
  readonly encoding: RowEncoding;
  /** The index that `Engine.add` returned for the reader with this encoding. */
  readonly encodingNumber: number;
  readonly keys: RecordColumn<PathKeys>;
}

/**
 * Writes the posts of decoded files to output files. The main thread decides, in order, which output file
 * each post goes to. Then the thread that holds the posts writes their lines to these files, or encodes
 * blocks that the main thread writes. If many output files get only a few lines each, the main thread
 * collects the lines instead.
 */
export class RowWriter<T> {
  readonly #outputs: Outputs;
  readonly #options: RowWriterOptions<T>;
  /** The outputs, by the JSON of the values that fill the template, so that each path is built only once. */
  readonly #byKeys = new Map<string, NumberedFiles>();

  constructor(outputs: Outputs, options: RowWriterOptions<T>) {
    this.#outputs = outputs;
    this.#options = options;
  }

  /**
   * Writes posts, and releases their stored file once its content is no longer needed. Writes nothing and
   * returns `false` if the main thread must encode the posts as items instead. This is the case if it is
   * faster, or if there are more combinations of tags and path values than `MAX_COMBINATIONS`.
   */
  async write(posts: StoredRows, origin: string | undefined): Promise<boolean> {
    const { kind, compression } = this.#options.encoding;
    const isLines = kind === undefined;
    const { bytes, isInThread } = posts.file;
    if (!isInThread && !isLines) return false;
    const partitioned = this.#partition(posts, origin);
    if (partitioned === undefined) return false;
    const isScattered = partitioned.files > MANY_FILES && bytes < FEW_BYTES * partitioned.files;
    if (!isInThread || isScattered) {
      if (!isLines) return false;
      await this.#collect(posts, partitioned);
      return true;
    }
    const ranges = rangesOf(posts, partitioned, isLines);
    if (isLines && compression === undefined)
      this.#writeRanges(posts, ranges).then(() => posts.file.release());
    else {
      this.#encode(posts, ranges);
      if (this.#outputs.full) await this.#outputs.relieve();
    }
    return true;
  }

  /**
   * Lets the thread that holds the posts encode each range of posts as a block, and adds each block to the
   * output file of its range.
   */
  #encode(posts: StoredRows, ranges: readonly Range[]): void {
    const { rows, tags, ends } = listOf(posts, ranges);
    const list = { rows, tags, tagNames: posts.tagNames };
    const blocks = posts.encode(list, ends, this.#options.encodingNumber, items =>
      this.#encodeHere(items, posts.file.origin),
    );
    // Prevents an unhandled rejection. If a block fails, the outputs end the run.
    blocks.catch(() => {});
    for (const [index, { file, rows, bytes }] of ranges.entries()) {
      const block = blocks.then(all => all[index]!);
      file.addBlock(rows.length, block, bytes);
    }
  }

  /**
   * Encodes posts again on the main thread after a thread could not encode them, in order to throw the exact
   * error. Writes nothing.
   *
   * @throws The error of the first post that cannot be encoded.
   */
  async #encodeHere(items: readonly unknown[], origin: string): Promise<void> {
    const { format } = this.#options;
    const encoder = format.encoder({ isNew: true, buffers: this.#outputs.buffers });
    for (const item of items) {
      encoder.add(format.encode(item as T, origin));
      if (encoder.full) await encoder.flush();
    }
  }

  async #collect(posts: StoredRows, { combinations, partitions }: Partitioned) {
    const content = await posts.file.content();
    const { rows } = posts;
    const { starts, lengths } = posts.bounds;
    for (let index = 0; index < rows.length; index++) {
      const start = starts[rows[index]!]!;
      const line = content.subarray(start, start + lengths[rows[index]!]!);
      partitions[combinations[index]!]!.output.add(line);
      if (this.#outputs.full) await this.#outputs.relieve();
    }
    posts.file.release();
  }

  /**
   * Makes the thread that holds the posts write their lines. Never rejects: the outputs end the run if a
   * write fails.
   */
  async #writeRanges(posts: StoredRows, ranges: readonly Range[]) {
    const writes: Promise<void>[] = [];
    const filesAtATime = Math.min(FILES_AT_A_TIME, this.#options.maxOpen);
    for (let at = 0; at < ranges.length; at += filesAtATime) {
      const some = ranges.slice(at, at + filesAtATime);
      const counted = some.map(range => ({ ...range, posts: range.rows.length }));
      const { rows, ends } = listOf(posts, some);
      const write = (fds: readonly number[]) =>
        posts.file.write(
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

  /**
   * Groups posts by the file that they go to. Returns `undefined` if tags and path fields could combine in
   * more than `MAX_COMBINATIONS` ways.
   */
  #partition(posts: StoredRows, origin: string | undefined): Partitioned | undefined {
    const { rows, tags, tagNames } = posts;
    const { path: template, keys: column } = this.#options;
    const { indexes: keys, sets: keySets, names } = posts.column(column);
    const places = template.fields.map(field => (field === 'tag' ? -1 : names.indexOf(field)));
    if (template.needsTag && tags === undefined && rows.length > 0) throw untagged(origin);
    const byTag = template.needsTag ? tags : undefined;
    const width = Math.max(1, keySets.length);
    if (width * (byTag === undefined ? 1 : (tagNames?.length ?? 0)) > MAX_COMBINATIONS)
      return undefined;
    const combinations = combinationsOf(rows, keys, byTag, width);
    const partitions: Partition[] = [];
    const byFile = new Map<OutputFile, Partition>();
    for (const combination of distinctOf(combinations)) {
      const tag = tagNames?.[Math.floor(combination / width)] ?? '';
      const output = this.#outputOf(keysOf(places, keySets[combination % width] ?? [], tag));
      // Several combinations of a tag and path values may lead to the same file, because they give the same
      // path, or different spellings of it.
      const first = output.fileFor(0);
      let partition = byFile.get(first);
      if (partition === undefined) {
        partition = { output, range: undefined };
        byFile.set(first, partition);
      }
      partitions[combination] = partition;
    }
    return { combinations, partitions, files: byFile.size };
  }

  #outputOf(keys: readonly (string | number)[]): NumberedFiles {
    const text = JSON.stringify(keys);
    let output = this.#byKeys.get(text);
    if (output === undefined) {
      output = this.#outputs.open(this.#options.path.fill(keys));
      this.#byKeys.set(text, output);
    }
    return output;
  }
}

/**
 * Splits the posts into ranges. The posts of a range are adjacent in one file.
 *
 * @param areLines Whether each post is written as a line, whose size is known. If false, a range is encoded
 *   as a block: it ends when it has `room` posts, and the next range continues in the same file.
 */
function rangesOf(
  { bounds, rows }: StoredRows,
  { combinations, partitions }: Partitioned,
  areLines: boolean,
): Range[] {
  const { lengths } = bounds;
  const ranges: Range[] = [];
  for (let index = 0; index < rows.length; index++) {
    const partition = partitions[combinations[index]!]!;
    let { range } = partition;
    if (areLines) {
      const byteLength = lengths[rows[index]!]!;
      const target = partition.output.fileFor(byteLength);
      const position = target.allocate(byteLength);
      if (range?.file !== target || range.position + range.bytes !== position)
        range = rangeAt(target, position, Number.POSITIVE_INFINITY);
      range.bytes += byteLength + 1;
    } else if (range === undefined) {
      const target = partition.output.fileFor(0);
      range = rangeAt(target, 0, target.room);
    } else if (range.rows.length === range.room) range = rangeAt(range.file, 0, range.file.maxRoom);
    if (range !== partition.range) {
      partition.range = range;
      ranges.push(range);
    }
    range.rows.push(index);
  }
  return ranges;
}

function rangeAt(file: OutputFile, position: number, room: number): Range {
  return { file, position, bytes: 0, rows: [], room };
}

/**
 * Joins the rows of all ranges in one list, with their tags. Also returns, for each range, the index in the
 * list at which the range ends.
 */
function listOf(
  { rows, tags }: StoredRows,
  ranges: readonly { readonly rows: readonly number[] }[],
) {
  const count = ranges.reduce((sum, range) => sum + range.rows.length, 0);
  const listed = new Uint32Array(count);
  const listedTags = tags && new Uint32Array(count);
  const ends: number[] = [];
  let at = 0;
  for (const range of ranges) {
    for (const index of range.rows) {
      listed[at] = rows[index]!;
      if (listedTags !== undefined) listedTags[at] = tags![index]!;
      at++;
    }
    ends.push(at);
  }
  return { rows: listed, tags: listedTags, ends };
}

// The loops over all posts are in separate functions, because V8 optimises short functions sooner.
function combinationsOf(
  rows: Uint32Array,
  keys: Uint32Array,
  tags: Uint32Array | undefined,
  width: number,
): Uint32Array {
  const combinations = new Uint32Array(rows.length);
  for (let index = 0; index < rows.length; index++)
    combinations[index] = (tags === undefined ? 0 : tags[index]! * width) + keys[rows[index]!]!;
  return combinations;
}

function distinctOf(combinations: Uint32Array): ReadonlySet<number> {
  const distinct = new Set<number>();
  let last = -1;
  for (let index = 0; index < combinations.length; index++) {
    const combination = combinations[index]!;
    if (combination !== last) distinct.add(combination);
    last = combination;
  }
  return distinct;
}

/**
 * Returns the value of each field of the template. An entry of `places` is the index of the field's value in
 * `keys`, or -1 for the tag.
 */
function keysOf(
  places: readonly number[],
  keys: readonly (string | number)[],
  tag: string,
): (string | number)[] {
  return places.map(place => (place === -1 ? tag : keys[place]!));
}
