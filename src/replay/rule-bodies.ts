import { OptionError } from '../errors.js';

/** What a request carries, and which of the items it was made of. */
export interface RuleBody<T> {
  readonly body: string;
  readonly items: readonly T[];
}

/**
 * The bodies `{"rules":[...]}` or `{"rule_ids":[...]}` that together hold all items, each at most
 * `maxBytes` long (service.md section 8). `print` makes the JSON of an item: ids are bare integers,
 * which `JSON.stringify` could not print.
 */
export function* ruleBodies<T>(
  key: 'rules' | 'rule_ids',
  items: readonly T[],
  maxBytes: number,
  print: (item: T) => string,
): Generator<RuleBody<T>, void, undefined> {
  const frame = `{"${key}":[]}`.length;
  let printed: string[] = [];
  let taken: T[] = [];
  let bytes = frame;
  const body = () => ({ body: `{"${key}":[${printed.join(',')}]}`, items: taken });
  for (const item of items) {
    const json = print(item);
    const size = Buffer.byteLength(json) + 1;
    if (frame + size > maxBytes)
      throw new OptionError(
        key,
        `One of \`${key}\` has ${size} bytes, and a request takes at most ${maxBytes}: ${json.slice(0, 80)}...`,
      );
    if (bytes + size > maxBytes) {
      yield body();
      printed = [];
      taken = [];
      bytes = frame;
    }
    printed.push(json);
    taken.push(item);
    bytes += size;
  }
  if (taken.length > 0) yield body();
}
