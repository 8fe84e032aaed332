import { checkOptions, func, type OptionTable, oneOf } from '../base/check.js';
import { stageFlow } from '../files/plan.js';
import type { Batches, Operator } from '../flow/flow.js';
import { frameRecords } from '../flow/frame-records.js';
import { withInternals } from '../flow/internals.js';
import { reportingDamaged } from '../flow/report-damaged.js';
import { LineFramer, type Separator } from '../json/line-framer.js';
import type { Bytes, JsonRecord, OnDamaged } from '../json/records.js';
import { RECORD_LIMITS, type RecordLimits } from '../json/records.js';

/** The limits of one line for `jsonLines`, and what to do with a damaged line. */
export interface JsonLinesOptions extends RecordLimits {
  /**
   * The separator of records. `'\n'` accepts LF and CRLF. Streams of the service use `'\r\n'`: their
   * messages may contain a bare LF between tokens, but never a CR.
   * @default '\n'
   */
  readonly separator?: Separator | undefined;
  /**
   * Called with each line, or rest of a line, that is not a JSON object; it is skipped. Without it, and without `damaged` of
   * the sink, the first one throws.
   */
  readonly onDamaged?: OnDamaged | undefined;
}

const OPTIONS = {
  ...RECORD_LIMITS,
  separator: oneOf('the separator of records', ['\n', '\r\n'], '\n'),
  onDamaged: func('called with each damaged line'),
} satisfies OptionTable<JsonLinesOptions>;

/**
 * Bytes to JSON objects, one a line: the exact bytes of each, without white space around it, as a view
 * of the input where possible. Blank lines, which streams send as heartbeats, are skipped. The last
 * line of a file needs no line end if it is a complete object.
 *
 * Each record is proven to be exactly one JSON object, as `JSON.parse` reads it, by a scan that keeps nothing. Objects that
 * share a line, with nothing, white space or one comma between them, become one record each. The rest of a
 * line, from the first byte that is not such an object, is damaged as a whole: where a torn record ends is unknown.
 *
 * @throws OptionError Immediately, if an option is invalid.
 * @throws DataError From the flow, with file, line and byte, for a line or rest of a line that is not an object, a last
 * line that is cut short, or a line that exceeds a limit (16 MiB and 3,000 levels by default).
 *
 * @example
 * pipeline(localFiles('archive'), gunzip(), jsonLines(), activities(), files({ path: 'all.jsonl' }));
 */
export function jsonLines(options: JsonLinesOptions = {}): Operator<Bytes, JsonRecord> {
  const { separator, onDamaged, ...limits } = checkOptions('jsonLines', OPTIONS, options);
  // Other records cannot be written as they are, or are shown to the caller.
  const isPlanned = separator === '\n' && onDamaged === undefined;
  return input =>
    withInternals(
      stageFlow(
        input,
        (batches, run) =>
          reportingDamaged(
            run,
            onDamaged,
            report =>
              frameRecords(
                'jsonLines',
                batches,
                origin => new LineFramer(separator, limits, origin, { onDamaged: report }),
              ) as Batches<JsonRecord>,
          ),
        (plan, stage) => (isPlanned ? plan.cut(limits, stage) : undefined),
      ),
      { isOfRecords: true },
    );
}
