import type { Cursor } from '../flow/flow.js';
import type { JetStreamConnection } from './connection.js';
import { Epochs } from './epochs.js';
import { errorOfMessage, publisherAdvice } from './error-of-message.js';
import { JetStreamError } from './jet-stream-error.js';
import { HEADERS } from './message.js';
import { PositionSet } from './position-set.js';
import { readMessages } from './read-messages.js';
import type { OpenedStream } from './stream-settings.js';
import { type SubjectPosition, subjectPositionOf } from './subject-positions.js';

/** Items by which the order of a source may differ from run to run. */
const SLACK = 1_000;

/** An item that the stream has behind the committed sequence. */
export interface PublishedItem {
  /** Its position, or one before it in the same batch. */
  readonly position: number;
  /** The bytes of its message, where it is the first item. */
  readonly bytes: number | undefined;
}

/** What the stream has of a publisher behind the committed sequence. */
export interface Published {
  readonly items: ReadonlyMap<string, PublishedItem>;
  /** How many items had been added when the last one was sent. */
  readonly end: number;
  /** The positions on each subject, the committed ones included. */
  readonly positions: readonly PositionSet[];
}

/** Which part of a stream to read, and how far its publisher is. */
export interface PublishedRange {
  readonly stream: OpenedStream;
  readonly subject: string;
  /** The name of the publisher. */
  readonly key: string;
  /** The committed sequence. */
  readonly after: number;
  /** The last sequence to read. */
  readonly until: number;
  /** The epoch that had begun on all subjects at the committed sequence. */
  readonly begun: number;
  readonly series: number;
  /** How many positions of each subject were committed. */
  readonly positions: readonly number[];
  /** The committed cursor, for errors. */
  readonly cursor: Cursor | undefined;
}

/** Reads what a publisher has published behind its committed sequence. */
export async function readPublished(
  connection: JetStreamConnection,
  { stream, subject, key, after, until, begun, series, positions, cursor }: PublishedRange,
): Promise<Published> {
  const epochs = new Epochs(
    Object.fromEntries(stream.subjects.map(name => [`${key} ${name}`, begun])),
  );
  const items = new Map<string, PublishedItem>();
  const found = new Map(
    stream.subjects.map((name, number) => [name, new PositionSet([positions[number] ?? 0])]),
  );
  let end = 0;
  const groups = readMessages(connection, {
    ...{ stream: stream.name, created: stream.created, subject: `${subject}.*` },
    ...{ after, until, headersOnly: true },
  });
  for await (const { messages, lost } of groups) {
    if (lost !== undefined)
      throw new JetStreamError(
        `toJetStream: the stream ${stream.name} has dropped messages up to sequence ${lost.to}, and the publisher ${key} had committed up to ${after}: what it published in between is unknown, so that posts could come twice. Keep messages for longer than a publisher may be down, or delete the entry of the publisher to publish everything again`,
        { failure: 'publisher', cursor },
      );
    for (const { headers, subject: name, seq } of messages) {
      if (headers?.get(HEADERS.publisher) !== key) continue;
      let at: SubjectPosition | undefined;
      try {
        if (!epochs.admits(name, headers)) continue;
        at = subjectPositionOf(headers);
      } catch (error) {
        throw errorOfMessage(
          { stream: stream.name, subject: name, seq },
          error,
          publisherAdvice(stream.name, seq, key),
        );
      }
      // The beginning of an epoch, or of an entry that was deleted.
      if (at?.series !== series) continue;
      found.get(name)?.add(at.position);
      const list = headers.get(HEADERS.ids);
      // A position without posts.
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

/** What the stream has from earlier runs, and how much of it the flow has passed. */
export class EarlierItems {
  readonly #items: ReadonlyMap<string, PublishedItem>;
  /** Those that the flow has not reached. */
  readonly #unseen: Set<string>;
  readonly #end: number;
  /** How many items were committed when this run began. */
  readonly #start: number;

  constructor({ items, end }: Pick<Published, 'items' | 'end'>, start: number) {
    this.#items = items;
    this.#unseen = new Set(items.keys());
    this.#end = end;
    this.#start = start;
  }

  /** The flow has reached an item. The result has `bytes` the first time, and is `undefined` for an item that is new. */
  pass(id: string): Pick<PublishedItem, 'bytes'> | undefined {
    const item = this.#items.get(id);
    return item && { bytes: this.#unseen.delete(id) ? item.bytes : undefined };
  }

  /**
   * Whether the flow has passed all of them, `posts` items after its beginning. Until then the committed sequence
   * stays, or the next run would not find what the flow has not reached.
   */
  areBehind(posts: number): boolean {
    if (this.#unseen.size === 0) return true;
    if (posts < this.#end) return false;
    const isBehind = [...this.#unseen].every(
      id => (this.#items.get(id)?.position ?? 0) < this.#start,
    );
    // An item may never come again, as it was deleted at the source.
    return isBehind || posts >= this.#end + 2 * (this.#end - this.#start) + SLACK;
  }
}
