import { createHash } from 'node:crypto';
import type { Activity } from '../activity/activity.js';
import { DataError } from '../errors.js';

/** Headers of a message, besides the message id that the server reads. */
export const HEADERS = {
  /** The name of the publisher. */
  publisher: 'Millrace-Publisher',
  /** Which start of this publisher sent it, see `epochs.ts`. */
  epoch: 'Millrace-Epoch',
  /** How many posts the publisher had sent before: 0 for the first one. */
  position: 'Millrace-Position',
  /** Its position among the messages of its publisher and subject, see `subject-positions.ts`. */
  subjectPosition: 'Millrace-Subject-Position',
  /** The format of the posts, where it is the same for all. */
  format: 'Millrace-Format',
  /** The distinct tags of the matching rules, as a JSON array. */
  tags: 'Millrace-Tags',
  /** The ids of the posts, with commas between them. */
  ids: 'Millrace-Ids',
  /** Of a batch: the length of each post in bytes. A line feed separates the posts. */
  lengths: 'Millrace-Lengths',
  /** How the payload is compressed: `gzip` or `zstd`. */
  encoding: 'Millrace-Encoding',
} as const;

/** Headers as pairs. */
export type Headers = readonly (readonly [name: string, value: string])[];

/** Anything with headers by name; the value of an absent one is empty. */
export interface HeaderReader {
  get(name: string): string;
}

/** An item and what is sent of it. */
export interface Outgoing {
  readonly id: string;
  readonly payload: Uint8Array;
  readonly format: string | undefined;
  readonly tags: readonly string[];
}

/** An item that cannot be published, because it has no id or is too large. `onDamaged` can leave it out. */
export class DamagedItem extends DataError {
  readonly raw: Uint8Array;

  constructor(
    message: string,
    raw: Uint8Array,
    options: ConstructorParameters<typeof DataError>[1],
  ) {
    super(message, options);
    this.raw = raw;
  }
}

/** An id that can be part of a header: another one is replaced by its hash. */
export function headerId(id: string): string {
  return /^[\w.:@/-]{1,128}$/.test(id) ? id : `sha256:${digest(id)}`;
}

/** A short hash. */
export function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

/** The headers that describe these items. */
export function describe(items: readonly Outgoing[]): Headers {
  const [first] = items;
  if (first !== undefined && items.length === 1)
    return described(first.id, first.format, first.tags);
  const format = items.every(item => item.format === first?.format) ? first?.format : undefined;
  const tags = items.flatMap(item => item.tags);
  return described(items.map(({ id }) => id).join(','), format, tags);
}

function described(ids: string, format: string | undefined, tags: readonly string[]): Headers {
  const headers: [string, string][] = [[HEADERS.ids, ids]];
  if (format !== undefined) headers.push([HEADERS.format, format]);
  if (tags.length > 0) headers.push([HEADERS.tags, JSON.stringify([...new Set(tags)])]);
  return headers;
}

/**
 * What is sent of an activity: its exact bytes.
 *
 * @throws DamagedItem
 */
export function outgoingPost(post: Activity): Outgoing {
  const { raw } = post;
  try {
    const { id, format, tags } = post;
    return { id: headerId(id), payload: raw, format, tags };
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    throw new DamagedItem(error.message, raw, { cause: error });
  }
}
