import type { Batch, Cursor } from '../flow/flow.js';
import { Activity, type Routed } from '../post/activity.js';
import type { DecodedFile } from './decoded-file.js';
import type { RowFields } from './row-fields.js';

/**
 * Posts of a decoded file that have passed the steps so far: the numbers of their rows, and fields of all posts in columns. A
 * step returns others of the same file.
 */
export class Rows {
  readonly file: DecodedFile;
  /** In the order of the posts; one that is routed to several tags comes several times. */
  readonly rows: Uint32Array;
  /** For each row, the index of its tag in `tagNames`; absent before `routeByTag`. */
  readonly tags: Uint32Array | undefined;
  readonly tagNames: readonly string[] | undefined;

  private constructor(
    file: DecodedFile,
    rows: Uint32Array,
    tags?: Uint32Array,
    tagNames?: readonly string[],
  ) {
    this.file = file;
    this.rows = rows;
    this.tags = tags;
    this.tagNames = tagNames;
  }

  /** All posts of a file. */
  static of(file: DecodedFile): Rows {
    const rows = new Uint32Array(file.fields.count);
    for (let row = 0; row < rows.length; row++) rows[row] = row;
    return new Rows(file, rows);
  }

  get count(): number {
    return this.rows.length;
  }

  /** Fields of all posts of the file, by row. */
  get fields(): RowFields {
    return this.file.fields;
  }

  /** The rows from one index up to another. */
  slice(from: number, to: number): Rows {
    const { file, rows, tags, tagNames } = this;
    return new Rows(file, rows.subarray(from, to), tags?.subarray(from, to), tagNames);
  }

  /** The rows that pass a test, which gets each once, in order; before `routeByTag` only. */
  filter(test: (row: number) => boolean): Rows {
    const { file, rows } = this;
    const passed = new Uint32Array(rows.length);
    let count = 0;
    // By index: an iterator is more for V8 to compile, in each run.
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index]!;
      if (test(row)) passed[count++] = row;
    }
    return new Rows(file, passed.subarray(0, count));
  }

  /** The same posts, each for tags. */
  routed(rows: Uint32Array, tags: Uint32Array, tagNames: readonly string[]): Rows {
    return new Rows(this.file, rows, tags, tagNames);
  }

  /** The posts as items, which are views of the content of the file. */
  async items(): Promise<(Activity | Routed)[]> {
    const { file, rows, tags, tagNames } = this;
    const content = await file.content();
    const { starts, lengths } = file.fields;
    const posts = file.activities ?? new Map<number, Activity>();
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
}

/** Posts of one file that arrived together: rows of a decoded file, or items. */
export type EngineBatch =
  | {
      readonly rows: Rows;
      readonly items?: undefined;
      readonly cursor?: Cursor | undefined;
      readonly origin?: string | undefined;
    }
  | (Batch<unknown> & { readonly rows?: undefined });

/** A batch for a reader that keeps its items. */
export async function asItems(batch: EngineBatch): Promise<Batch<unknown>> {
  if (batch.rows === undefined) return batch;
  const { rows, cursor, origin } = batch;
  const items = await rows.items();
  rows.file.leave();
  return { items, cursor, origin };
}

export function countOf({ rows, items }: EngineBatch): number {
  return rows === undefined ? items.length : rows.count;
}
