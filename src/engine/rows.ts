import { Activity } from '../activity/activity.js';
import type { Routed } from '../activity/routed.js';
import type { Batch, Cursor } from '../flow/flow.js';
import type { DecodedFile, RowList } from './decoded-file.js';

/** Posts of a decoded file that have passed the steps so far; one that is routed to several tags comes several times. */
export interface Rows extends RowList {
  readonly file: DecodedFile;
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

/** All posts of a file. */
export function allRows(file: DecodedFile): Rows {
  const rows = new Uint32Array(file.fields.count);
  for (let row = 0; row < rows.length; row++) rows[row] = row;
  return { file, rows };
}

/** The rows from one index up to another. */
export function someRows({ rows, tags, ...others }: Rows, from: number, to: number): Rows {
  return { ...others, rows: rows.subarray(from, to), tags: tags?.subarray(from, to) };
}

/** The posts as items, which are views of the content of the file. */
export async function itemsOf({
  file,
  rows,
  tags,
  tagNames,
}: Rows): Promise<(Activity | Routed)[]> {
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

/** A batch for a reader that keeps its items. */
export async function asItems(batch: EngineBatch): Promise<Batch<unknown>> {
  if (batch.rows === undefined) return batch;
  const { rows, cursor, origin } = batch;
  const items = await itemsOf(rows);
  rows.file.leave();
  return { items, cursor, origin };
}

export function countOf({ rows, items }: EngineBatch): number {
  return rows === undefined ? items.length : rows.rows.length;
}
