import { Activity } from '../../activity/activity.js';
import type { Routed } from '../../activity/routed.js';
import type { HeldFile } from '../../scan/held-file.js';
import type { ScannedItems } from '../../scan/scanned-items.js';
import type { PathTemplate } from './path-template.js';
import type { RecordFile } from './record-file.js';
import type { RecordOutput, RecordOutputs } from './record-outputs.js';
import { untagged } from './routes.js';

/** Files that one command to a thread writes. */
const FILES_AT_A_TIME = 32;
/** More outputs than this, with few bytes each, are written from the main thread, which collects lines. */
const MANY_OUTPUTS = 64;
const FEW_BYTES = 16 * 1024;

/** A combination of a tag and keys is a number of 32 bits. */
const MAX_COMBINATIONS = 2 ** 32;

/** A range of an output file, and the rows of the posts in it. */
interface RowRange<T> {
  readonly file: RecordFile<T>;
  readonly position: number;
  bytes: number;
  readonly rows: number[];
}

/** The posts that go to one file, and those behind it where its size is limited. */
interface Partition<T> {
  readonly output: RecordOutput<T>;
  /** The last range; the next post extends it where it follows in the same file. */
  range: RowRange<T> | undefined;
}

interface Partitioned<T> {
  /** For each item, the number of its tag and its other keys. */
  readonly combinations: Uint32Array;
  /** By combination. */
  readonly partitions: readonly Partition<T>[];
}

/**
 * Writes posts that other threads hold: allocates a range for each in its output file, in order, and lets
 * the thread write it there.
 */
export class ScannedLines<T> {
  readonly #outputs: RecordOutputs<T>;
  readonly #template: PathTemplate;
  readonly #filesAtATime: number;
  /** By the keys that fill the template, as JSON: a path is built only once. */
  readonly #byKeys = new Map<string, RecordOutput<T>>();

  constructor(outputs: RecordOutputs<T>, template: PathTemplate, maxOpen: number) {
    this.#outputs = outputs;
    this.#template = template;
    this.#filesAtATime = Math.min(FILES_AT_A_TIME, maxOpen);
  }

  /**
   * Queues the lines of posts, and calls `done` once they are written. Returns `false` where it is better to
   * collect them on the main thread.
   */
  write(items: ScannedItems, origin: string | undefined, done: () => void): boolean {
    const { file, rows } = items;
    const { lengths } = file.columns;
    const partitioned = this.#partition(items, origin);
    if (partitioned === undefined) return false;
    const { combinations, partitions } = partitioned;
    const ranges: RowRange<T>[] = [];
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index]!;
      const byteLength = lengths[row]!;
      const partition = partitions[combinations[index]!]!;
      const target = partition.output.fileFor(byteLength);
      const position = target.allocate(byteLength);
      let { range } = partition;
      if (range?.file !== target || range.position + range.bytes !== position) {
        range = { file: target, position, bytes: 0, rows: [] };
        partition.range = range;
        ranges.push(range);
      }
      range.bytes += byteLength + 1;
      range.rows.push(row);
    }
    this.#writeRanges(file, ranges).then(done);
    return true;
  }

  /**
   * Partitions items by file. `undefined` where there are many partitions for few bytes.
   */
  #partition(
    { file, rows, tags, tagNames }: ScannedItems,
    origin: string | undefined,
  ): Partitioned<T> | undefined {
    const template = this.#template;
    const { keys, keySets } = file.columns;
    if (template.needsTag && tags === undefined && rows.length > 0) throw untagged(origin);
    const byTag = template.needsTag ? tags : undefined;
    const width = Math.max(1, keySets.length);
    if (width * (byTag === undefined ? 1 : (tagNames?.length ?? 0)) > MAX_COMBINATIONS)
      return undefined;
    const combinations = combinationsOf(rows, keys, byTag, width);
    const distinct = distinctOf(combinations);
    if (distinct.size > MANY_OUTPUTS && file.bytes < FEW_BYTES * distinct.size) return undefined;
    const partitions: Partition<T>[] = [];
    const byFile = new Map<RecordFile<T>, Partition<T>>();
    for (const combination of distinct) {
      const tag = tagNames?.[Math.floor(combination / width)] ?? '';
      const output = this.#outputOf(keysOf(template, keySets[combination % width] ?? [], tag));
      // Several combinations may fill the template with one path, and several paths may be those of one file.
      const first = output.fileFor(0);
      let partition = byFile.get(first);
      if (partition === undefined) {
        partition = { output, range: undefined };
        byFile.set(first, partition);
      }
      partitions[combination] = partition;
    }
    return { combinations, partitions };
  }

  #outputOf(keys: readonly (string | number)[]): RecordOutput<T> {
    const text = JSON.stringify(keys);
    let output = this.#byKeys.get(text);
    if (output === undefined) {
      output = this.#outputs.open(this.#template.fill(keys));
      this.#byKeys.set(text, output);
    }
    return output;
  }

  /** Never rejects: a failure ends the run through the outputs. */
  async #writeRanges(file: HeldFile, ranges: readonly RowRange<T>[]): Promise<void> {
    const writes: Promise<void>[] = [];
    for (let at = 0; at < ranges.length; at += this.#filesAtATime) {
      const some = ranges.slice(at, at + this.#filesAtATime);
      const counted = some.map(range => ({ ...range, posts: range.rows.length }));
      writes.push(this.#outputs.writeRanges(counted, fds => writeRows(file, some, fds)));
    }
    await Promise.all(writes);
  }
}

// The loops over all posts are functions of their own: V8 optimises short ones quickly.

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

/** In the order in which they occur first. */
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

/** What the template is filled with: `keys` are those of its fields but for tags. */
function keysOf(
  { fields }: PathTemplate,
  keys: readonly (string | number)[],
  tag: string,
): (string | number)[] {
  let next = 0;
  return fields.map(field => (field === 'tag' ? tag : keys[next++]!));
}

function writeRows<T>(file: HeldFile, ranges: readonly RowRange<T>[], fds: readonly number[]) {
  const rows = new Uint32Array(ranges.reduce((sum, range) => sum + range.rows.length, 0));
  let from = 0;
  const commands = ranges.map((range, index) => {
    rows.set(range.rows, from);
    const to = from + range.rows.length;
    const command = { fd: fds[index]!, position: range.position, from, to };
    from = to;
    return command;
  });
  return file.write(rows, commands);
}

/** The same posts with their content, for a sink that collects them. */
export async function fetchItems({
  file,
  rows,
  tags,
  tagNames,
}: ScannedItems): Promise<(Activity | Routed)[]> {
  const content = await file.content();
  const { starts, lengths } = file.columns;
  const posts = new Map<number, Activity>();
  return Array.from(rows, (row, index) => {
    const start = starts[row]!;
    let activity = posts.get(row);
    if (activity === undefined) {
      activity = new Activity(content.subarray(start, start + lengths[row]!));
      posts.set(row, activity);
    }
    return tags === undefined ? activity : { tag: tagNames![tags[index]!]!, activity };
  });
}
