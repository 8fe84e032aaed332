import type { JetStreamConnection } from './connection.js';
import { errorOfOwnMessage, JetStreamError } from './jet-stream-errors.js';
import { HEADERS, type SubjectPosition, subjectPositionOf } from './message.js';
import { Epochs, PositionSet } from './positions.js';
import type { PublisherState } from './publisher-entry.js';
import { readMessages } from './read-messages.js';
import type { OpenedStream } from './stream-settings.js';

/**
 * A source may deliver the same items in a different order in another run. This is the maximum number of
 * places by which an item may move.
 */
const SLACK = 1_000;

/**
 * An item that an earlier run sent to the stream after the last sequence that the publisher had committed.
 */
export interface PublishedItem {
  /**
   * The header `Millrace-Position` of the item's message: the number of items that the publisher had added by
   * then, without the items of this message.
   */
  readonly position: number;
  /** The size of the message in bytes. Set only if this is the first item of the message. */
  readonly bytes: number | undefined;
}

/** The items that a publisher sent to the stream after the last sequence that it had committed. */
export interface Published {
  readonly items: ReadonlyMap<string, PublishedItem>;
  /** How many items the publisher had added by its last message, including the items of that message. */
  readonly end: number;
  /**
   * For each subject, by its index: the positions of all messages in the stream, including committed
   * positions.
   */
  readonly positions: readonly PositionSet[];
}

export interface PublishedRange {
  readonly stream: OpenedStream;
  readonly subject: string;
  readonly key: string;
  readonly until: number;
  readonly committed: PublisherState;
}

export async function readPublished(
  connection: JetStreamConnection,
  { stream, subject, key, until, committed }: PublishedRange,
): Promise<Published> {
  const { seq: after, begun, series, positions } = committed;
  const epochs = new Epochs(
    Object.fromEntries(stream.subjects.map(name => [`${key} ${name}`, begun])),
  );
  const items = new Map<string, PublishedItem>();
  const found = new Map(
    stream.subjects.map((name, number) => [name, new PositionSet([positions[number] ?? 0])]),
  );
  let end = 0;
  const groups = readMessages(connection, {
    stream,
    subject: `${subject}.>`,
    after,
    until,
    headersOnly: true,
  });
  for await (const { messages, lost } of groups) {
    if (lost !== undefined)
      throw new JetStreamError(
        `toJetStream: the stream ${stream.name} has dropped messages up to sequence ${lost.to}, and the publisher ${key} had committed up to ${after}: what it published in between is unknown, so that posts could come twice. Keep messages for longer than a publisher may be down, or delete the entry of the publisher to publish everything again`,
        { failure: 'publisher', cursor: committed.cursor ?? undefined },
      );
    for (const { headers, subject: name, seq } of messages) {
      if (headers?.get(HEADERS.publisher) !== key) continue;
      let at: SubjectPosition | undefined;
      try {
        if (!epochs.admits(name, headers)) continue;
        at = subjectPositionOf(headers);
      } catch (error) {
        throw errorOfOwnMessage({ stream: stream.name, subject: name, seq }, error, key);
      }
      // Skips two kinds of messages. A message that begins an epoch has no position. A message of
      // another series was sent before the publisher's entry in the bucket was deleted.
      if (at?.series !== series) continue;
      found.get(name)?.add(at.position);
      const list = headers.get(HEADERS.ids);
      // A message without posts only fills a position that would otherwise be missing.
      if (list === '') continue;
      const ids = list.split(',');
      const position = Number(headers.get(HEADERS.position));
      end = Math.max(end, position + ids.length);
      for (const [index, id] of ids.entries()) {
        const bytes = index === 0 ? Number(headers.get('Nats-Msg-Size')) : undefined;
        if (!items.has(id)) items.set(id, { position, bytes });
      }
    }
  }
  return { items, end, positions: [...found.values()] };
}

/**
 * The items that earlier runs sent to the stream after the sequence number of their last commit. Tracks which
 * of these items the flow has delivered again in this run.
 */
export class EarlierItems {
  readonly #published: Pick<Published, 'items' | 'end'>;
  /** The ids of the items that the flow has not delivered again yet. */
  readonly #unseen: Set<string>;
  /** The number of items that had been committed when this run started. */
  readonly #start: number;

  constructor(published: Pick<Published, 'items' | 'end'>, start: number) {
    this.#published = published;
    this.#unseen = new Set(published.items.keys());
    this.#start = start;
  }

  /**
   * Call this for each item of the flow. Returns `undefined` if no earlier run has published the item.
   * Otherwise, returns an object. Its `bytes` is the size of the message, and is set only for the first item
   * of a message, at the first call for this item. Each message is therefore counted once.
   */
  pass(id: string): Pick<PublishedItem, 'bytes'> | undefined {
    const item = this.#published.items.get(id);
    return item && { bytes: this.#unseen.delete(id) ? item.bytes : undefined };
  }

  /**
   * Whether the flow has delivered all earlier items again, or will never deliver the remaining ones. Until
   * then, the committed sequence must not advance: the next run searches the stream only after that sequence,
   * so it would publish the remaining items a second time.
   *
   * @param posts The number of items that the flow has delivered, including items that were committed
   *   before this run.
   */
  areBehind(posts: number): boolean {
    if (this.#unseen.size === 0) return true;
    const { items, end } = this.#published;
    if (posts < end) return false;
    // The flow was resumed after `#start` items, so it does not deliver earlier items again.
    const isBehind = [...this.#unseen].every(id => (items.get(id)?.position ?? 0) < this.#start);
    // The source may have deleted the items that are still unseen. Gives up on them once the flow has
    // delivered enough further items.
    return isBehind || posts >= end + 2 * (end - this.#start) + SLACK;
  }
}
