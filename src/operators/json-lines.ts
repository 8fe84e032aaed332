import { checkOptions, func, type OptionTable, oneOf } from '../check.js';
import type { Operator } from '../flow/flow.js';
import { framed } from '../flow/framed.js';
import { internalOperator } from '../flow/internal-flow.js';
import type { OnDamaged } from '../json/damaged-record.js';
import { LineFramer, type Separator } from '../json/line-framer.js';
import { RECORD_LIMITS, type RecordLimits } from '../json/record-limits.js';

export interface JsonLinesOptions extends RecordLimits {
  /**
   * What stands between records. With `'\n'`, LF and CRLF both do. The service's streams part their
   * messages by `'\r\n'`, and a message may hold a bare LF between its tokens but never a CR.
   * @default '\n'
   */
  readonly separator?: Separator | undefined;
  /** Told of each line that is no record, and leaves it out; without, the first one throws. */
  readonly onDamaged?: OnDamaged | undefined;
}

const OPTIONS = {
  ...RECORD_LIMITS,
  separator: oneOf('what stands between records', ['\n', '\r\n'], '\n'),
  onDamaged: func('told of each line that is no record'),
} satisfies OptionTable<JsonLinesOptions>;

/**
 * Bytes to JSON objects, one a line: the exact bytes of each, without the white space around it. An
 * object that lies in one block is a view of that block. Blank lines, the service's heartbeats, are
 * left out. The last line of a file needs no line end if it is a whole object.
 *
 * Whether a line is valid JSON is for whoever parses it to find; a line that does not begin with `{`
 * and end with `}`, a last line cut short, and a line past a limit throw a `DataError` with file,
 * line and byte.
 *
 * @example
 * pipeline(localFiles('archive'), gunzip(), jsonLines(), activities(), files({ path: 'all.jsonl' }));
 */
export function jsonLines(options: JsonLinesOptions = {}): Operator<Uint8Array, Buffer> {
  const { separator, onDamaged, ...limits } = checkOptions('jsonLines', OPTIONS, options);
  return internalOperator(input =>
    framed(input, origin => new LineFramer(separator, limits, origin, { onDamaged })),
  );
}
