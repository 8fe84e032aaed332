import { checkValue } from '../base/check.js';
import { withOrigin } from '../base/errors.js';
import { type Batches, type Operator, ownOperator } from '../flow/flow.js';
import { frameRecords } from '../flow/frame-records.js';
import { withInternals } from '../flow/internals.js';
import { OPEN_OBJECT } from '../json/byte-codes.js';
import { checkObject } from '../json/check-object.js';
import { ElementSplitter } from '../json/element-splitter.js';
import { parseJson } from '../json/exact-ids.js';
import { jsonText } from '../json/json-text.js';
import type { Bytes, JsonRecord } from '../json/records.js';
import { ARRAY_KEY, type RecordLimits, recordLimits } from '../json/records.js';

/**
 * Splits a JSON document into the elements of one array at its top level. Delivers the exact bytes of each
 * element as soon as the element is complete. Each file of the input is one document. An input without
 * cursors, such as a plain stream of bytes, is also one document.
 *
 * @param key The name of the array.
 * @param options The limits of one element. By default, 16 MiB and 3,000 levels.
 * @throws OptionError Immediately, if an option is invalid.
 * @throws DataError From the flow, if a document is truncated, is not JSON or has no such array, or when an
 * element exceeds a limit.
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
      frameRecords('jsonElements', input, origin => {
        const splitter = new ElementSplitter(key, { ...limits, origin });
        const prove = (element: Buffer) => {
          if (element[0] === OPEN_OBJECT)
            checkObject(element, limits.maxDepth, `An element of \`${key}\``, { origin });
          else withOrigin(origin, () => parseJson(jsonText(element), element));
          return element;
        };
        return {
          push(bytes, elements) {
            const found: Buffer[] = [];
            try {
              splitter.push(bytes, found);
            } finally {
              // If `push` throws, the elements in `found` come before the mistake that it found. They are
              // still checked, so that the error is about the first mistake of the document.
              for (const element of found) elements.push(prove(element) as JsonRecord);
            }
          },
          end: () => void splitter.end(),
        };
      }) as Batches<JsonRecord>,
  );
  return input => withInternals(operator(input), { isOfRecords: true });
}
