import type { RowEncoding } from '../../files/encode-rows.js';
import type { RecordColumn } from '../../files/record-columns.js';
import type { StoredRows } from '../../files/rows.js';
import type { FileFormat } from './format.js';
import type { NumberedFiles } from './numbered-files.js';
import type { OutputFile } from './output-file.js';
import type { Outputs } from './outputs.js';
import type { PathKeys } from './path-keys.js';
import { type PathTemplate, untagged } from './path-template.js';

/** Files that one command to a thread writes. */
const FILES_AT_A_TIME = 32;
/** More files than this, with few bytes each, are written from the main thread, which collects their posts. */
const MANY_FILES = 64;
const FEW_BYTES = 16 * 1024;
/** A combination of a tag and keys is a number of 32 bits. */
const MAX_COMBINATIONS = 2 ** 32;

/** Posts that follow each other in a file: lines at a position, or a block. */
interface Range {
  readonly file: OutputFile;
  readonly position: number;
  bytes: number;
  /** The indices of the posts in the rows. */
  readonly rows: number[];
  /** How many posts it may have. */
  readonly room: number;
}

/** The posts that go to one file, and those after it where its size is limited. */
interface Partition {
  readonly output: NumberedFiles;
  /** The last range; the next post extends it where it follows in the same file. */
  range: Range | undefined;
}

interface Partitioned {
  /** For each item, the number of its tag and its other keys. */
  readonly combinations: Uint32Array;
  /** Partitions by combination. */
  readonly partitions: readonly Partition[];
  readonly files: number;
}

interface RowWriterOptions<T> {
  readonly path: PathTemplate;
  readonly maxOpen: number;
  readonly format: FileFormat<T>;
  readonly encoding: RowEncoding;
  /** What the engine knows it by. */
  readonly encodingNumber: number;
  readonly keys: RecordColumn<PathKeys>;
}

/**
 * Writes decoded posts: decides on the main thread, in order, which file each goes to, and lets the thread that holds the
 * posts write their lines there, or encode them in blocks. Where that does not pay, the main thread collects the lines.
 */
export class RowWriter<T> {
  readonly #outputs: Outputs;
  readonly #options: RowWriterOptions<T>;
  /** Files by the keys that fill the template, as JSON, so that each path is built once. */
  readonly #byKeys = new Map<string, NumberedFiles>();

  constructor(outputs: Outputs, options: RowWriterOptions<T>) {
    this.#outputs = outputs;
    this.#options = options;
  }

  /**
   * Writes posts, and releases their file once nothing needs it any more. Returns `false`, and has done nothing, where
   * the posts cannot be partitioned by numbers, or the main thread had better encode them as items.
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

  /** Lets the thread encode the posts of each range as a block. */
  #encode(posts: StoredRows, ranges: readonly Range[]): void {
    const { rows, tags, ends } = listOf(posts, ranges);
    const list = { rows, tags, tagNames: posts.tagNames };
    const blocks = posts.file
      .encode(list, ends, this.#options.encodingNumber)
      .then(async encoded => encoded ?? Promise.reject(await this.#errorOf(posts)));
    // Nothing needs the content any more; a failure ends the run through the outputs.
    const release = () => posts.file.release();
    blocks.then(release, release);
    for (const [index, { file, rows, bytes }] of ranges.entries()) {
      const block = blocks.then(all => all[index]!);
      file.addBlock(rows.length, block, bytes);
    }
  }

  /** The error of the first post that cannot be encoded. */
  async #errorOf(posts: StoredRows): Promise<unknown> {
    const { origin } = posts.file;
    const { buffers } = this.#outputs;
    const { format } = this.#options;
    const encoder = format.encoder({ isNew: true, buffers });
    for (const item of await posts.items())
      try {
        encoder.add(format.encode(item as T, origin));
        if (encoder.full) await encoder.flush();
      } catch (error) {
        return error;
      }
    return new Error(`A thread could not encode the posts of ${origin}`);
  }

  /** Collects the lines on the main thread. */
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

  /** Lets the thread write the lines. Never rejects: a failure ends the run through the outputs. */
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

  /** Partitions posts by file; `undefined` if they have too many combinations of tags and keys. */
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
      // Several combinations may give the same path, and several paths may belong to the same file.
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
 * Gives each post a place in its file; posts that follow each other in one file are one range.
 *
 * @param areLines Whether a post takes the bytes of its line. Where that is not known, ranges are cut only where they are
 * full, and follow each other in the file that the first one is of.
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

/** The rows of ranges one after the other, with their tags, and where each range ends. */
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

// Separate functions for the loops over all posts: V8 optimises short functions sooner.
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

/** Returns each combination once, in the order of first occurrence. */
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

/** The values to fill the template with: the key of each place, or the tag for a place without a key. */
function keysOf(
  places: readonly number[],
  keys: readonly (string | number)[],
  tag: string,
): (string | number)[] {
  return places.map(place => (place === -1 ? tag : keys[place]!));
}
