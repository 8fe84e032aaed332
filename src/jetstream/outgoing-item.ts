import { createHash } from 'node:crypto';
import { Activity } from '../activity/activity.js';
import { kindOf, wrongItem } from '../activity/wrong-item.js';
import { DataError } from '../errors.js';
import { lineOf } from '../sinks/line.js';

/** What is sent of an item. */
export interface Outgoing {
  readonly id: string;
  readonly payload: Uint8Array;
  readonly format: string | undefined;
  readonly tags: readonly string[];
}

/** The error about an item that cannot be published, because it has no id or is too large. `onDamaged` can leave it out. */
export class DamagedItem extends DataError {
  /** The whole bytes of the item. */
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

/** The id as a header can have it: an id that is too long, or has other characters, is replaced by its hash. */
function headerId(id: string): string {
  return /^[\w.:@/-]{1,128}$/.test(id) ? id : `sha256:${digest(id)}`;
}

/** A short hash of a text. */
export function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

/**
 * What is sent of an activity: its exact bytes.
 *
 * @throws DamagedItem where the activity has no id.
 */
function outgoingPost(post: Activity): Outgoing {
  const { raw } = post;
  try {
    const { id, format, tags } = post;
    return { id: headerId(id), payload: raw, format, tags };
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    throw new DamagedItem(error.message, raw, { cause: error });
  }
}

/**
 * What is sent of an item: of an activity its exact bytes, of any other value its JSON, or what the options `id` and
 * `payload` make of it.
 *
 * @param origin Where the item comes from, for an error.
 * @throws DataError where there is no id, or the options return something else than an id and bytes.
 */
export function outgoingOf<T>(
  item: T,
  origin: string | undefined,
  id: ((item: T) => string) | undefined,
  payload: ((item: T) => string | Uint8Array) | undefined,
): Outgoing {
  if (item instanceof Activity) {
    const post = outgoingPost(item);
    return id === undefined && payload === undefined
      ? post
      : {
          ...post,
          id: id === undefined ? post.id : idOf(id(item)),
          payload: payload === undefined ? post.payload : bytesOf(payload(item)),
        };
  }
  if (id === undefined)
    throw wrongItem(item, {
      need: 'toJetStream() reads activities',
      reads: 'activities',
      or: 'pass `id` for the ids of items',
      origin,
    });
  return {
    id: idOf(id(item)),
    payload: payload === undefined ? lineOf(item, undefined) : bytesOf(payload(item)),
    format: undefined,
    tags: [],
  };
}

function idOf(id: unknown): string {
  if (typeof id === 'string' && id !== '') return headerId(id);
  const got = id === '' ? 'an empty one' : kindOf(id);
  throw new DataError(
    `The option \`id\` of toJetStream() must return text that is not empty, but returned ${got}`,
  );
}

function bytesOf(payload: unknown): Uint8Array {
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
  if (bytes instanceof Uint8Array && bytes.length > 0) return bytes;
  const got = bytes instanceof Uint8Array ? 'none' : kindOf(payload);
  throw new DataError(
    `The option \`payload\` of toJetStream() must return text or bytes, but returned ${got}`,
  );
}
