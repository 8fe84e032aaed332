import { checkValue } from '../base/check.js';
import { type Operator, ownOperator } from '../flow/flow.js';
import { framed } from '../flow/framed.js';
import type { Json } from '../json/json.js';
import { JsonArrayFramer } from '../json/json-array-framer.js';
import type { Bytes } from '../json/json-record.js';
import { ARRAY_KEY, type RecordLimits, recordLimits } from '../json/record-limits.js';

/**
 * Bytes of a JSON document to the parsed elements of one array at its top level, each as soon as it is
 * complete: for long lists of small objects, such as the rules of a stream or the files of a job. Each
 * file of the input is one document; an input without cursors is one document as a whole.
 *
 * Ids stay exact: integers of 16 digits or more, and those whose key is `id` or ends in `_id`, become
 * strings of digits. For posts use `jsonElements`, which is faster and keeps their bytes.
 *
 * @param key The name of the array.
 * @param options Limits of one element; 16 MiB and 3,000 levels by default.
 * @throws OptionError Immediately, when an option is invalid.
 * @throws DataError From the flow, when a document is cut short, is not JSON or has no such array, or
 * when an element exceeds a limit.
 * @example
 * for await (const url of jsonArray('urlList')(createReadStream('results.json'))) console.log(url);
 */
export function jsonArray(key: string, options: RecordLimits = {}): Operator<Bytes, Json> {
  checkValue('jsonArray', 'key', ARRAY_KEY, key);
  const limits = recordLimits('jsonArray', options);
  return ownOperator(input =>
    framed('jsonArray', input, origin => new JsonArrayFramer(key, limits, origin)),
  );
}
