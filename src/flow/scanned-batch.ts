import type { HeldFile } from '../scan/held-file.js';
import type { Cursor } from './flow.js';
import type { InternalBatch } from './internal-flow.js';

/** All posts of a file that a thread holds, for a reader with a `fileScan`. */
export function scannedBatch<T>(
  file: HeldFile,
  cursor: Cursor,
  origin: string | undefined,
): InternalBatch<T> {
  const rows = new Uint32Array(file.columns.count);
  for (let row = 0; row < rows.length; row++) rows[row] = row;
  return { items: [], cursor, origin, scanned: { file, rows }, release: () => file.release() };
}
