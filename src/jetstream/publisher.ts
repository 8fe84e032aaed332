import { setImmediate } from 'node:timers/promises';
import { WakeUp } from '../base/wait.js';
import type { Cursor } from '../flow/flow.js';
import type { Progress } from '../flow/progress.js';
import type { JetStreamConnection } from './connection.js';
import { EarlierItems, readPublished } from './earlier-items.js';
import { HEADERS, type SubjectPosition } from './message.js';
import { type BatchSettings, digest, type Outgoing, pack, SubjectBatches } from './packer.js';
import {
  type EntryBucket,
  EntryWriter,
  type PublishedToJetStream,
  type PublisherEntry,
  type PublisherState,
} from './publisher-entry.js';
import { type TakeOverOptions, takeOver } from './publisher-fence.js';
import { Sender } from './sender.js';
import { subjectNumber } from './stream-settings.js';

const MAX_IN_FLIGHT_BYTES = 16 << 20;

export interface PublisherOptions extends TakeOverOptions {
  readonly subject: string;
  /** The number of topics into which the subjects are divided. */
  readonly topics: number;
  readonly maxInFlight: number;
  readonly commitIntervalMs: number;
  readonly pack: BatchSettings;
  readonly progress: Progress | undefined;
  readonly onFailure: (error: unknown) => void;
}

interface Pending {
  readonly subject: number;
  readonly items: readonly Outgoing[];
  /** How many items had been added when this message was created, without its own items. */
  readonly itemsBefore: number;
  readonly at: SubjectPosition;
  /** The total size of the message's items in bytes. */
  readonly bytes: number;
  /** The size of the message's payload in bytes, once the message is packed. */
  sentBytes: number;
  readonly since: number;
  /** Resolves once the message was acknowledged or the publisher has failed. */
  acked: Promise<void>;
}

const NOTHING = Promise.resolve();

/**
 * Publishes items so that readers get each item once, even if the servers no longer detect a duplicate
 * message. To continue an earlier run, a publisher first marks the end of that run on all subjects. If that run
 * still sends messages after this mark, readers skip them. The publisher then reads which items the earlier
 * run has published since its last commit, and does not publish these again.
 */
export class Publisher {
  readonly #options: PublisherOptions;
  readonly #entry: PublisherEntry;
  readonly #writer: EntryWriter;
  readonly #sender: Sender;
  readonly #batches: SubjectBatches;
  readonly #pending = new Set<Pending>();
  /** The total size of the items in all pending messages, in bytes. */
  #pendingBytes = 0;
  /** Wakes `add` when it waits for an acknowledgement. */
  readonly #wakeUp = new WakeUp();
  #earlier = new EarlierItems({ items: new Map(), end: 0 }, 0);
  /**
   * The counts of everything that this run and earlier runs have published. They are changed in place,
   * because each post changes them.
   */
  readonly #counts: { -readonly [Name in keyof PublishedToJetStream]: number };
  #failure: { readonly error: unknown } | undefined;

  /**
   * Starts a publisher.
   *
   * @throws JetStreamError if another process publishes under the same name
   */
  static async start(bucket: EntryBucket, options: PublisherOptions): Promise<Publisher> {
    const { connection } = bucket;
    const entry = await takeOver(bucket, options);
    const publisher = new Publisher(connection, entry, options);
    if (publisher.isComplete) return publisher;
    try {
      publisher.#writer.start();
      if (!entry.isNew) await publisher.#resume(connection);
    } catch (error) {
      publisher.close();
      throw error;
    }
    return publisher;
  }

  private constructor(
    connection: JetStreamConnection,
    entry: PublisherEntry,
    options: PublisherOptions,
  ) {
    this.#options = options;
    this.#entry = entry;
    this.#writer = new EntryWriter(entry, {
      commitIntervalMs: options.commitIntervalMs,
      acknowledged: () => this.#acknowledged(),
      onFailure: error => this.#fail(error),
    });
    this.#sender = new Sender(connection, entry, options.stream);
    this.#batches = new SubjectBatches(
      options.pack,
      () => connection.maxPayload,
      (subject, items) => this.#send(subject, items),
    );
    this.#counts = { ...entry.state.counts };
  }

  /** Whether an earlier run has already published everything. */
  get isComplete(): boolean {
    return this.#entry.state.state === 'complete';
  }

  get cursor(): Cursor | undefined {
    return this.#entry.state.cursor ?? undefined;
  }

  get counts(): PublishedToJetStream {
    return { ...this.#counts };
  }

  /**
   * Publishes an item, unless an earlier run has published it. If too many messages are unacknowledged,
   * returns a promise that the caller must await before it adds the next item.
   *
   * @throws DamagedItem if the item is too large. The item is then not counted, and more items can be added.
   */
  add(item: Outgoing): Promise<void> | undefined {
    this.#throwFailure();
    const found = this.#earlier.pass(item.id);
    if (found === undefined) this.#batches.mustFit(item);
    this.#writer.passed();
    this.#counts.posts++;
    const { stream, topics } = this.#options;
    if (found === undefined)
      this.#batches.add(subjectNumber(item.id, stream.subjects.length, item.topic, topics), item);
    else if (found.bytes !== undefined) {
      this.#counts.messages++;
      this.#counts.bytes += found.bytes;
    }
    return this.#isFull ? this.#untilNotFull() : undefined;
  }

  async #untilNotFull(): Promise<void> {
    while (this.#isFull) {
      await this.#wakeUp.next();
      // Many acknowledgements arrive at a time. All of them are counted before the next message is
      // sent. The client can then send many new messages in one write.
      await setImmediate();
      this.#throwFailure();
    }
  }

  /**
   * Records the cursor after the last item that was added. The next run can resume there once the servers
   * have acknowledged all items up to this cursor.
   */
  reached(cursor: Cursor): void {
    this.#throwFailure();
    this.#writer.reached(cursor);
  }

  /** Commits the last cursor, unless items came after it. Waits until it is committed. */
  async commitLast(): Promise<void> {
    await this.#writer.commitLast();
    this.#throwFailure();
  }

  /** Waits until all messages have been acknowledged, then records that the flow is complete. */
  async finish(): Promise<void> {
    this.#batches.sendAll();
    await Promise.all([...this.#pending].map(({ acked }) => acked));
    // From here on, the writer sends heartbeats but does not commit the cursor. A commit would count the
    // messages that `#sender.end` sends, which are not acknowledged yet.
    this.#writer.passed();
    this.#throwFailure();
    await this.#sender.end();
    await this.#writer.end();
    this.#throwFailure();
    await this.#entry.write({ state: 'complete', counts: this.counts, ...this.#searchStart });
  }

  close(): void {
    this.#writer.stop();
    this.#batches.close();
    this.#failure ??= { error: new Error('The publisher is closed') };
    this.#wakeUp.wake();
    this.#entry.close();
  }

  /**
   * Sends all items so far, and waits until they are acknowledged. Resolves to the changes to commit together
   * with the cursor after these items.
   */
  async #acknowledged(): Promise<Partial<PublisherState>> {
    this.#batches.sendAll();
    const { counts } = this;
    // `#searchStart` is read before the wait, because the next run must also find the messages that are sent
    // during the wait.
    const searchStart = this.#earlier.areBehind(counts.posts) ? this.#searchStart : {};
    const pending = [...this.#pending];
    await Promise.all(pending.map(({ acked }) => acked));
    this.#throwFailure();
    const bytes = pending.reduce((sum, { sentBytes }) => sum + sentBytes, counts.bytes);
    return { counts: { ...counts, bytes }, ...searchStart };
  }

  /** The state to commit so that the next run finds all messages that this run sends from now on. */
  get #searchStart(): Pick<PublisherState, 'seq' | 'begun' | 'positions'> {
    const { highest, positions } = this.#sender;
    return { seq: highest, begun: this.#entry.state.epoch, positions };
  }

  get #isFull(): boolean {
    const { maxInFlight } = this.#options;
    return this.#pending.size >= maxInFlight || this.#pendingBytes > MAX_IN_FLIGHT_BYTES;
  }

  #send(subject: number, items: readonly Outgoing[]): void {
    if (this.#failure !== undefined) return;
    const message: Pending = {
      subject,
      items,
      itemsBefore: this.#counts.posts - items.length,
      at: this.#sender.take(subject),
      bytes: items.reduce((sum, { payload }) => sum + payload.length, 0),
      sentBytes: 0,
      since: performance.now(),
      acked: NOTHING,
    };
    this.#counts.messages++;
    this.#pending.add(message);
    this.#pendingBytes += message.bytes;
    message.acked = this.#deliver(message).catch(error => this.#fail(error));
  }

  async #deliver(message: Pending): Promise<void> {
    const { subject, items, itemsBefore, at, bytes, since } = message;
    const packed = pack(items, this.#options.pack.compression);
    const { payload, headers } = packed instanceof Promise ? await packed : packed;
    const sentBytes = payload.length;
    message.sentBytes = sentBytes;
    await this.#sender.send({
      subject,
      id: messageId(items),
      at,
      payload,
      headers: [...headers, [HEADERS.position, String(itemsBefore)]],
      since,
    });
    this.#pending.delete(message);
    this.#pendingBytes -= bytes;
    this.#counts.bytes += sentBytes;
    const { progress } = this.#options;
    if (progress !== undefined) {
      progress.written += items.length;
      progress.writtenBytes += sentBytes;
    }
    this.#wakeUp.wake();
  }

  #fail(error: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = { error };
    this.#writer.stop();
    this.#batches.close();
    this.#wakeUp.wake();
    this.#options.onFailure(error);
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /**
   * Begins an epoch on each subject, then reads the messages that earlier runs published after the
   * committed sequence. If an earlier run sends more messages after that, readers skip them. This
   * run therefore knows all earlier messages that readers deliver.
   */
  async #resume(connection: JetStreamConnection): Promise<void> {
    const { stream, subject, key } = this.#options;
    const committed = this.#entry.state;
    const until = await this.#sender.begin();
    const range = { stream, subject, key, until, committed };
    const published = await readPublished(connection, range);
    await this.#sender.resume(published.positions);
    this.#earlier = new EarlierItems(published, committed.counts.posts);
  }
}

/**
 * Returns the id of a message: the id of its only item, or a digest of the ids of its items. The sender adds
 * a prefix that makes the id specific to the publisher and its flow.
 */
function messageId(items: readonly Outgoing[]): string {
  const [first] = items;
  return items.length === 1 && first !== undefined
    ? first.id
    : digest(items.map(({ id }) => id).join());
}
