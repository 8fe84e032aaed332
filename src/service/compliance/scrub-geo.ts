import { LazyObject } from '../../json/lazy-object.js';
import { Activity } from '../../post/activity.js';

/** The members that hold the location of a post, in each format. */
const PLACES = {
  original: ['geo', 'coordinates', 'place'],
  activity_streams: ['geo', 'location'],
} as const;

const NULL = Buffer.from('null');

/**
 * Returns a post without the locations that authors have removed. Covers the shared and quoted posts inside it,
 * too. Returns the same object if nothing was removed. All other bytes are unchanged.
 *
 * @param upTo Returns the id up to which the posts of a user have lost their location; `undefined` for none.
 */
export function withoutScrubbedGeo(
  activity: Activity,
  upTo: (userId: string) => bigint | undefined,
): Activity {
  const { raw } = activity;
  const spans = [...scrubbedSpans(activity, upTo, raw)].sort(([a], [b]) => a - b);
  if (spans.length === 0) return activity;
  const parts: Uint8Array[] = [];
  let at = 0;
  for (const [start, end] of spans) {
    parts.push(raw.subarray(at, start), NULL);
    at = end;
  }
  return new Activity(Buffer.concat([...parts, raw.subarray(at)]));
}

function* scrubbedSpans(
  activity: Activity,
  upTo: (userId: string) => bigint | undefined,
  root: Buffer,
): Generator<readonly [start: number, end: number]> {
  const { authorId, retweeted, quoted, raw, format } = activity;
  for (const inner of [retweeted, quoted])
    if (inner !== undefined) yield* scrubbedSpans(inner, upTo, root);
  const last = authorId === undefined ? undefined : upTo(authorId);
  if (last === undefined || BigInt(activity.id) > last) return;
  const offset = raw.byteOffset - root.byteOffset;
  const fields = LazyObject.of(raw);
  for (const name of PLACES[format]) {
    const span = fields?.span(name);
    if (span === undefined || raw.toString('latin1', ...span) === 'null') continue;
    yield [offset + span[0], offset + span[1]];
  }
}
