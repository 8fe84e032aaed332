import { checkValue } from '../base/check.js';
import { type Batches, type Operator, ownOperator } from '../flow/flow.js';
import { framed, ofRecords } from '../flow/framed.js';
import { ElementSplitter } from '../json/element-splitter.js';
import type { Bytes, JsonRecord } from '../json/json-record.js';
import { ARRAY_KEY, type RecordLimits, recordLimits } from '../json/record-limits.js';

/**
 * Bytes of a JSON document to the elements of one array at its top level: the exact bytes of each, as
 * soon as it is complete. Each file of the input is one document; an input without cursors is one
 * document as a whole.
 *
 * @param key The name of the array.
 * @param options Limits of one element; 16 MiB and 3,000 levels by default.
 * @throws OptionError Immediately, when an option is invalid.
 * @throws DataError From the flow, when a document is cut short, is not JSON around the array or has no
 * such array, or when an element exceeds a limit.
 *
 * @example
 * // Search pages that were saved as files: { "results": [ ... ], "next": "..." }
 * pipeline(localFiles('pages'), jsonElements('results'), activities(), files({ path: 'all.jsonl' }));
 */
export function jsonElements(key: string, options: RecordLimits = {}): Operator<Bytes, JsonRecord> {
  checkValue('jsonElements', 'key', ARRAY_KEY, key);
  const limits = recordLimits('jsonElements', options);
  const operator = ownOperator<Bytes, JsonRecord>(
    input =>
      framed('jsonElements', input, origin => {
        const splitter = new ElementSplitter(key, { ...limits, origin });
        return {
          push: (bytes, elements) => void splitter.push(bytes, elements),
          end: () => void splitter.end(),
        };
      }) as Batches<JsonRecord>,
  );
  return input => ofRecords(operator(input));
}
