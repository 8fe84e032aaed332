import { cellName } from '../cell-name.js';
import type { StreamCell } from './stream-setting.js';

const IN_MALFORMED = 'damaged gzip, and lengths that are wrong, are in `malformed message`';
const NO_HTTP =
  'is an answer of HTTP; `leader` and `storage-limit` have servers that refuse for a while';

/** Faults of the matrix that a stream cannot have, or has in another cell. */
const ABSENT: Readonly<Record<string, string>> = {
  'gzip cut': IN_MALFORMED,
  'gzip flip': IN_MALFORMED,
  '429': NO_HTTP,
  '503 five times': NO_HTTP,
  'sums that lie': IN_MALFORMED,
  'expired addresses': 'a stream has no addresses that expire',
};

export function absentCells(row: 'reader' | 'publisher'): readonly StreamCell[] {
  return Object.entries(ABSENT).map(([fault, why]) => ({
    name: cellName(row, fault),
    expects: 'none',
    why,
  }));
}
