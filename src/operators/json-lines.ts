import { checkOptions, func, type OptionTable, oneOf } from '../base/check.js';
import { stageFlow } from '../files/plan.js';
import type { Batches, Operator } from '../flow/flow.js';
import { frameRecords } from '../flow/frame-records.js';
import { withInternals } from '../flow/internals.js';
import { reportingDamaged } from '../flow/report-damaged.js';
import { LineFramer, type Separator } from '../json/line-framer.js';
import type { Bytes, JsonRecord, OnDamaged } from '../json/records.js';
import { RECORD_LIMITS, type RecordLimits } from '../json/records.js';

/** Options of `jsonLines`: the limits of one line, and what to do with damaged lines. */
export interface JsonLinesOptions extends RecordLimits {
  /**
   * The separator of records. `'\n'` accepts LF and CRLF. Use `'\r\n'` for streams of the service: their
   * messages may contain a bare LF between tokens, but never a CR.
   * @default '\n'
   */
  readonly separator?: Separator | undefined;
  /**
   * Called with each line that is not a JSON object. If a line begins with valid objects, it gets only the
   * rest of the line. If it returns, these bytes are skipped. Without this option and without the option
   * `damaged` of the sink, the first damaged line throws.
   */
  readonly onDamaged?: OnDamaged | undefined;
}

const OPTIONS = {
  ...RECORD_LIMITS,
  separator: oneOf('the separator of records', ['\n', '\r\n'], '\n'),
  onDamaged: func('called with each damaged line'),
} satisfies OptionTable<JsonLinesOptions>;

/**
 * Splits bytes into JSON objects, one per line. Delivers the exact bytes of each object, without white space
 * around it, as a view of the input if possible. Skips blank lines, which streams send as heartbeats. The
 * last line of a file needs no line end if it is a complete object.
 *
 * A scan checks that each record is exactly one JSON object, as `JSON.parse` would accept it. A line may have
 * several objects, with nothing, white space or one comma between them. Each of them becomes a record. The
 * rest of a line counts as damaged from the first byte that is not part of an object, because the end of a
 * truncated record is unknown.
 *
 * @throws OptionError Immediately, if an option is invalid.
 * @throws DataError From the flow, with file, line and byte, if a line or the rest of a line is not an
 *   object, or if the last line is truncated. Also thrown if a line exceeds a limit (by default, 16 MiB and
 *   3,000 levels).
 *
 * @example
 * pipeline(localFiles('archive'), gunzip(), jsonLines(), activities(), files({ path: 'all.jsonl' }));
 */
export function jsonLines(options: JsonLinesOptions = {}): Operator<Bytes, JsonRecord> {
  const { separator, onDamaged, ...limits } = checkOptions('jsonLines', OPTIONS, options);
  // With the separator `\n`, no record contains a line feed, so the engine for whole files can write each
  // record unchanged as one line. That engine cannot call `onDamaged`.
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
