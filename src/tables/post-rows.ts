import { Activity } from '../activity/activity.js';
import type { RowValue } from './column.js';
import { listColumns } from './columns.js';
import type { PostColumnName } from './post-columns.js';
import { type InvalidValues, rowReader } from './row-reader.js';

/**
 * Reads the post between two positions of a file's content into the values of its row.
 *
 * @param tag The tag that it is routed by.
 */
export type PostRowReader = (
  content: Buffer,
  start: number,
  end: number,
  tag?: string,
) => RowValue[];

/**
 * Makes rows of posts in their bytes: those of `rowReader`, and its errors.
 *
 * @param call Whose columns they are, for messages.
 */
export function postRowReader(
  call: string,
  columns: readonly PostColumnName[],
  invalid: InvalidValues,
): PostRowReader {
  const read = rowReader(call, listColumns(columns), invalid);
  return (content, start, end, tag) => {
    const activity = new Activity(content.subarray(start, end));
    return read(tag === undefined ? activity : { tag, activity });
  };
}
