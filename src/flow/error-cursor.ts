import { MillraceError } from '../errors.js';
import { isRecord } from '../is-record.js';

/**
 * Adds to an error that ends a flow where its source can go on, unless the error says so already.
 *
 * @param delivered The last cursor that the flow has delivered.
 */
export function addCursor(error: unknown, delivered: unknown): void {
  if (!(error instanceof MillraceError) || error.cursor !== undefined) return;
  const cursor = sourceCursor(delivered);
  if (cursor !== undefined) Object.assign(error, { cursor });
}

/**
 * The cursor of the source in one that operators have wrapped. There is none for the cursors of `merge` and
 * `concat`: they have no option `resume`, and one source alone cannot go on for the others.
 */
function sourceCursor(delivered: unknown): unknown {
  let cursor = delivered;
  while (isRecord(cursor) && 'inner' in cursor && !('concat' in cursor)) cursor = cursor.inner;
  return isRecord(cursor) && typeof cursor.source === 'string' ? cursor : undefined;
}
