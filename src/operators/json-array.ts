import { checkValue } from '../base/check.js';
import { type Operator, ownOperator } from '../flow/flow.js';
import { frameRecords } from '../flow/frame-records.js';
import { JsonArrayFramer } from '../json/json-array-framer.js';
import type { Bytes } from '../json/records.js';
import { ARRAY_PATH, type ArrayPath, type RecordLimits, recordLimits } from '../json/records.js';
import type { Json } from '../json/type-guards.js';

/**
 * Parses the elements of one array in a JSON document: the document itself, or an array at any depth. Each
 * element is delivered as soon as it is complete. Each file of the input is one document. If the input has no
 * cursors, all of it is a single document.
 *
 * Ids stay exact: integers of 16 digits or more, and integers whose key is `id` or ends in `_id`, become
 * strings of digits. If posts are in an array at the top level, use `jsonElements`, which is faster and keeps
 * the bytes of the posts.
 *
 * @param path The key of the array, or the keys that lead to it: `'data.items'` or `['data', 'items']`. If it
 * is not given, the document itself is the array.
 * @param options The limits of one element. By default, 16 MiB and 3,000 levels.
 * @throws OptionError Immediately, if an option is invalid.
 * @throws DataError From the flow, if a document is truncated, is not JSON or has no such array, or when an
 * element exceeds a limit.
 * @example
 * for await (const url of jsonArray('urlList')(createReadStream('results.json'))) console.log(url);
 *
 * // [{ "tag": "snow" }, { "tag": "ice" }]
 * pipeline(localFiles('list.json'), jsonArray(), files({ path: 'lines.jsonl' }));
 */
export function jsonArray(path: ArrayPath = [], options: RecordLimits = {}): Operator<Bytes, Json> {
  checkValue('jsonArray', 'path', ARRAY_PATH, path);
  const limits = recordLimits('jsonArray', options);
  const keys = typeof path === 'string' ? path.split('.') : [...path];
  return ownOperator(input =>
    frameRecords('jsonArray', input, origin => new JsonArrayFramer(keys, limits, origin)),
  );
}
