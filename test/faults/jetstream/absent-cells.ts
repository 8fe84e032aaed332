import { cellName } from '../part.js';
import type { StreamCell } from './stream-setting.js';

type Row = 'reader' | 'publisher';

const IN_MALFORMED = 'a batch whose gzip is cut or flipped is in `malformed message`';
const NO_GZIP = 'it reads no gzip: of stored messages it asks for the headers alone';
const REFUSED =
  'is an answer of HTTP; `storage-limit` and `full-disk` have servers that refuse messages for a while';
const NOT_SERVED =
  'is an answer of HTTP; `leader` and `partition` have servers that do not serve it for a while';

/**
 * Faults that are tried on other pipelines but not here. The value is the reason: the fault does
 * not apply to a stream, or another fault covers it.
 */
const ABSENT: Readonly<Record<Row, Readonly<Record<string, string>>>> = {
  reader: {
    'gzip cut': IN_MALFORMED,
    'gzip flip': IN_MALFORMED,
    '429': NOT_SERVED,
    '503 five times': NOT_SERVED,
    'sums that lie': 'a batch whose lengths are wrong is in `malformed message`',
    'expired addresses': 'a stream has no addresses that expire',
  },
  publisher: {
    'gzip cut': NO_GZIP,
    'gzip flip': NO_GZIP,
    '429': REFUSED,
    '503 five times': REFUSED,
    'sums that lie': 'the servers tell it no sums of what it publishes',
    'expired addresses': 'a stream has no addresses that expire',
  },
};

export function absentCells(row: Row): readonly StreamCell[] {
  return Object.entries(ABSENT[row]).map(([fault, why]) => ({
    name: cellName(row, fault),
    expects: 'none',
    why,
  }));
}
