import { Activity } from '../../activity/activity.js';
import type { Routed } from '../../activity/routed.js';
import type { HeldFile } from '../../scan/held-file.js';
import type { ScannedItems } from '../../scan/scanned-items.js';
import type { RecordFile } from './output-file.js';
import type { Output, Outputs } from './outputs.js';
import type { PathTemplate } from './path-template.js';
import { untagged } from './routes.js';

/** Files that one command to a thread writes. */
const FILES_AT_A_TIME = 32;
/** More outputs than this, with few bytes each, are written from the main thread, which collects lines. */
const MANY_OUTPUTS = 64;
const FEW_BYTES = 16 * 1024;

/** Rows of one output file whose places follow each other. */
interface Group<T> {
  readonly file: RecordFile<T>;
  readonly position: number;
  bytes: number;
  readonly rows: number[];
}

/** The output of one path, and the rows that go to its current file. */
interface Slot<T> {
  readonly output: Output<T>;
  group: Group<T> | undefined;
}

/**
 * Writes posts that other threads hold: reserves the place of each in its output file, in order, and lets
 * the thread write them there.
 */
export class ScannedLines<T> {
  readonly #outputs: Outputs<T>;
  readonly #template: PathTemplate;
  readonly #filesAtATime: number;
  readonly #byPath = new Map<string, Output<T>>();

  constructor(outputs: Outputs<T>, template: PathTemplate, maxOpen: number) {
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
    const slotOf = this.#slotsOf(items, origin);
    if (slotOf === undefined) return false;
    const groups: Group<T>[] = [];
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index]!;
      const byteLength = lengths[row]!;
      const slot = slotOf(index);
      const target = slot.output.fileFor(byteLength);
      const position = target.reserve(byteLength);
      let { group } = slot;
      if (group?.file !== target || group.position + group.bytes !== position) {
        group = { file: target, position, bytes: 0, rows: [] };
        slot.group = group;
        groups.push(group);
      }
      group.bytes += byteLength + 1;
      group.rows.push(row);
    }
    this.#fill(file, groups).then(done);
    return true;
  }

  /** Finds the slot of an item by its index; `undefined` where there are many for few bytes. */
  #slotsOf(
    { file, rows, tags, tagNames }: ScannedItems,
    origin: string | undefined,
  ): ((index: number) => Slot<T>) | undefined {
    const template = this.#template;
    const { keys, keySets } = file.columns;
    if (template.needsTag && tags === undefined && rows.length > 0) throw untagged(origin);
    const byTag = template.needsTag ? tags : undefined;
    const width = Math.max(1, keySets.length);
    const places = new Uint32Array(rows.length);
    const distinct = new Set<number>();
    let last = -1;
    for (let index = 0; index < rows.length; index++) {
      const place = (byTag === undefined ? 0 : byTag[index]! * width) + keys[rows[index]!]!;
      places[index] = place;
      if (place !== last) distinct.add(place);
      last = place;
    }
    if (distinct.size > MANY_OUTPUTS && file.bytes < FEW_BYTES * distinct.size) return undefined;
    const slots: Slot<T>[] = [];
    const byPath = new Map<string, Slot<T>>();
    for (const place of distinct) {
      const path = template.fill(
        keysOf(template, keySets[place % width] ?? [], tagNames?.[Math.floor(place / width)] ?? ''),
      );
      let slot = byPath.get(path);
      if (slot === undefined) {
        slot = { output: this.#outputAt(path), group: undefined };
        byPath.set(path, slot);
      }
      slots[place] = slot;
    }
    return index => slots[places[index]!]!;
  }

  #outputAt(path: string): Output<T> {
    let output = this.#byPath.get(path);
    if (output === undefined) {
      output = this.#outputs.open(path);
      this.#byPath.set(path, output);
    }
    return output;
  }

  /** Never rejects: a failure ends the run through the outputs. */
  async #fill(file: HeldFile, groups: readonly Group<T>[]): Promise<void> {
    const writes: Promise<void>[] = [];
    for (let at = 0; at < groups.length; at += this.#filesAtATime) {
      const some = groups.slice(at, at + this.#filesAtATime);
      const places = some.map(group => ({ ...group, posts: group.rows.length }));
      writes.push(this.#outputs.fill(places, fds => writeGroups(file, some, fds)));
    }
    await Promise.all(writes);
  }
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

function writeGroups<T>(file: HeldFile, groups: readonly Group<T>[], fds: readonly number[]) {
  const rows = new Uint32Array(groups.reduce((sum, group) => sum + group.rows.length, 0));
  let from = 0;
  const ranges = groups.map((group, index) => {
    rows.set(group.rows, from);
    const range = { fd: fds[index]!, position: group.position, from, to: from + group.rows.length };
    from = range.to;
    return range;
  });
  return file.write(rows, ranges);
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
