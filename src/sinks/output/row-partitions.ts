import type { Rows } from '../../engine/rows.js';
import type { PathTemplate } from './path-template.js';
import { untagged } from './routes.js';

/** More files than this, with few bytes each, are written from the main thread, which collects their posts. */
const MANY_FILES = 64;
const FEW_BYTES = 16 * 1024;

/** A combination of a tag and keys is a number of 32 bits. */
const MAX_COMBINATIONS = 2 ** 32;

/** The posts that go to one file, and those behind it where its size is limited. */
export interface Partition<Output, Range> {
  readonly output: Output;
  /** The last range; the next post extends it where it follows in the same file. */
  range: Range | undefined;
}

export interface Partitioned<Output, Range> {
  /** For each item, the number of its tag and its other keys. */
  readonly combinations: Uint32Array;
  /** By combination. */
  readonly partitions: readonly Partition<Output, Range>[];
  readonly files: number;
}

/** Decides by numbers which output each post of a file goes to. */
export class RowPartitions<Output, Range extends { readonly rows: readonly number[] }> {
  readonly #template: PathTemplate;
  readonly #open: (path: string) => Output;
  readonly #fileOf: (output: Output) => unknown;
  /** By the keys that fill the template, as JSON: a path is built only once. */
  readonly #byKeys = new Map<string, Output>();

  /** @param fileOf The file that an output adds to at present. */
  constructor(
    template: PathTemplate,
    open: (path: string) => Output,
    fileOf: (output: Output) => unknown,
  ) {
    this.#template = template;
    this.#open = open;
    this.#fileOf = fileOf;
  }

  /** Partitions posts by file; `undefined` where there are too many combinations of tags and keys. */
  partition(
    { file, rows, tags, tagNames }: Rows,
    origin: string | undefined,
  ): Partitioned<Output, Range> | undefined {
    const template = this.#template;
    const { keys, keySets, keyNames } = file.fields;
    // Other readers of the posts may want other keys.
    const places = template.fields.map(field => (field === 'tag' ? -1 : keyNames.indexOf(field)));
    if (template.needsTag && tags === undefined && rows.length > 0) throw untagged(origin);
    const byTag = template.needsTag ? tags : undefined;
    const width = Math.max(1, keySets.length);
    if (width * (byTag === undefined ? 1 : (tagNames?.length ?? 0)) > MAX_COMBINATIONS)
      return undefined;
    const combinations = combinationsOf(rows, keys, byTag, width);
    const partitions: Partition<Output, Range>[] = [];
    const byFile = new Map<unknown, Partition<Output, Range>>();
    for (const combination of distinctOf(combinations)) {
      const tag = tagNames?.[Math.floor(combination / width)] ?? '';
      const output = this.#outputOf(keysOf(places, keySets[combination % width] ?? [], tag));
      // Several combinations may fill the template with one path, and several paths may be those of one file.
      const first = this.#fileOf(output);
      let partition = byFile.get(first);
      if (partition === undefined) {
        partition = { output, range: undefined };
        byFile.set(first, partition);
      }
      partitions[combination] = partition;
    }
    return { combinations, partitions, files: byFile.size };
  }

  #outputOf(keys: readonly (string | number)[]): Output {
    const text = JSON.stringify(keys);
    let output = this.#byKeys.get(text);
    if (output === undefined) {
      output = this.#open(this.#template.fill(keys));
      this.#byKeys.set(text, output);
    }
    return output;
  }
}

/** Whether there are many files for few bytes. */
export function isScattered({ files }: { readonly files: number }, bytes: number): boolean {
  return files > MANY_FILES && bytes < FEW_BYTES * files;
}

/** The rows of ranges one after the other, with their tags, and where each range ends. */
export function listOf(
  { rows, tags }: Rows,
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

/** What the template is filled with: the key at each place, and the tag where there is none. */
function keysOf(
  places: readonly number[],
  keys: readonly (string | number)[],
  tag: string,
): (string | number)[] {
  return places.map(place => (place === -1 ? tag : keys[place]!));
}
