import { type Operator, operator } from '../flow/flow.js';
import { framed } from '../flow/framed.js';
import { ElementSplitter } from '../json/element-splitter.js';
import { type RecordLimits, recordLimits } from '../json/record-limits.js';

/**
 * Bytes of a JSON document to the elements of one array at its top level: the exact bytes of each,
 * the first ones before the document has ended. Each file of the input, or the whole input where it
 * has no edges, is one document. For what stands around the array, see `ElementSplitter`.
 *
 * A document that is cut short, has no such array, or an element past a limit throw a `DataError`.
 *
 * @example
 * // Search pages that were saved as files: { "results": [ ... ], "next": "..." }
 * pipeline(localFiles('pages'), jsonElements('results'), activities(), files({ path: 'all.jsonl' }));
 */
export function jsonElements(
  key: string,
  options: RecordLimits = {},
): Operator<Uint8Array, Buffer> {
  const limits = recordLimits('jsonElements', options);
  return operator(input =>
    framed(input, origin => {
      const splitter = new ElementSplitter(key, { ...limits, origin });
      return {
        push(bytes, elements) {
          splitter.push(bytes, elements);
        },
        end() {
          splitter.end();
        },
      };
    }),
  );
}
