import type { Cursor, FlowIdentity } from '../flow/flow.js';
import type { Progress } from '../flow/progress.js';
import type { JetStreamConnection } from './connection.js';
import { digest, HEADERS, type Outgoing } from './message.js';
import type { Packer } from './packer.js';
import { EarlierItems, readPublished } from './published.js';
import {
  type EntryBucket,
  type PublishedCounts,
  PublisherEntry,
  type PublisherState,
} from './publisher-entry.js';
import { Sender } from './sender.js';
import type { OpenedStream } from './stream-settings.js';
import { SubjectBatches } from './subject-batches.js';
import type { SubjectPosition } from './subject-positions.js';
import { subjectNumber } from './subjects.js';

/** How often a publisher that commits nothing shows that it is alive. */
const HEARTBEAT_MS = 1_000;
const MAX_IN_FLIGHT_BYTES = 16 << 20;

export interface PublisherOptions {
  /** The name of the publisher in the bucket. */
  readonly key: string;
  /** The same without the share. */
  readonly name: string;
  readonly stream: OpenedStream;
  readonly subject: string;
  readonly flow: FlowIdentity;
  readonly maxInFlight: number;
  readonly commitIntervalMs: number;
  readonly takeoverMs: number;
  readonly packer: Packer;
  readonly progress: Progress | undefined;
  /** Called with the error that ends the run. */
  readonly onFailure: (error: unknown) => void;
}

/** A message that the servers have not acknowledged. */
interface Pending {
  readonly subject: number;
  readonly items: readonly Outgoing[];
  /** How many items were added before it. */
  readonly itemsBefore: number;
  readonly at: SubjectPosition;
  /** The bytes of its items. */
  readonly bytes: number;
  /** The bytes of its payload, once it is packed. */
  sentBytes: number;
  readonly since: number;
  acked: Promise<void>;
}

const NOTHING = Promise.resolve();

/**
 * Publishes items so that each counts once, whatever the duplicate window of the stream. A publisher that goes on
 * after another run begins an epoch on all subjects (`epochs.ts`), reads what that run has published behind the
 * committed sequence, and publishes the rest. Readers leave out what the run before sends later.
 */
export class Publisher {
  readonly #connection: JetStreamConnection;
  readonly #entry: PublisherEntry;
  readonly #options: PublisherOptions;
  readonly #prefix: string;
  readonly #sender: Sender;
  readonly #batches: SubjectBatches;
  readonly #pending = new Set<Pending>();
  #pendingBytes = 0;
  #wake: () => void = () => {};
  #earlier = new EarlierItems({ items: new Map(), end: 0 }, 0);
  /** What it has published; changed in place, as there is a change for each post. */
  readonly #counts: { posts: number; messages: number; bytes: number };
  /** The epoch that has begun on all subjects. */
  #begun: number;
  /** The cursor after all items up to now. */
  #reached: Cursor | undefined;
  #committing: Promise<void> | undefined;
  #isShowingLife = false;
  #lastCommit = performance.now();
  #lastWrite = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #failure: { readonly error: unknown } | undefined;

  /** @throws JetStreamError where another process has the name. */
  static async start(bucket: EntryBucket, options: PublisherOptions): Promise<Publisher> {
    const entry = await PublisherEntry.takeOver(bucket, options);
    const publisher = new Publisher(bucket.connection, entry, options);
    try {
      if (!publisher.isComplete) await publisher.#start();
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
    this.#connection = connection;
    this.#entry = entry;
    this.#options = options;
    this.#counts = { ...entry.state.counts };
    this.#begun = entry.state.begun;
    this.#batches = new SubjectBatches(
      options.packer,
      () => connection.maxPayload,
      (subject, items) => this.#send(subject, items),
    );
    this.#prefix = digest(JSON.stringify([options.key, options.flow]));
    const { key, stream } = options;
    this.#sender = new Sender(connection, entry, { key, stream, prefix: this.#prefix });
  }

  /** Whether a run before this one has published everything. */
  get isComplete(): boolean {
    return this.#entry.state.state === 'complete';
  }

  /** The last cursor that was committed. */
  get cursor(): Cursor | undefined {
    return this.#entry.state.cursor ?? undefined;
  }

  get counts(): PublishedCounts {
    return { ...this.#counts };
  }

  /**
   * Publishes an item, unless the stream has it from a run before this one. Returns a promise where the next item
   * must wait, because too much is on its way.
   *
   * @throws DamagedItem For one that is too large. It does not count, and others can be added behind it.
   */
  add(item: Outgoing): Promise<void> | undefined {
    this.#throwFailure();
    const found = this.#earlier.pass(item.id);
    if (found === undefined) this.#batches.mustFit(item);
    this.#reached = undefined;
    this.#counts.posts++;
    if (found === undefined)
      this.#batches.add(subjectNumber(item.id, this.#options.stream.subjects.length), item);
    else if (found.bytes !== undefined) {
      this.#counts.messages++;
      this.#counts.bytes += found.bytes;
    }
    return this.#isFull ? this.#untilNotFull() : undefined;
  }

  async #untilNotFull(): Promise<void> {
    while (this.#isFull) {
      await new Promise<void>(resolve => {
        this.#wake = resolve;
      });
      this.#throwFailure();
    }
  }

  /** The flow can go on here, once all items up to now are acknowledged. */
  reached(cursor: Cursor): void {
    this.#throwFailure();
    this.#reached = cursor;
    if (this.#isDue) this.#commit();
  }

  /** Waits for all acknowledgements, and records that the flow is complete. */
  async finish(): Promise<void> {
    this.#batches.sendAll();
    await this.#settled();
    // Without it there are only signs of life: a commit would count the last messages, which are not acknowledged.
    this.#reached = undefined;
    this.#throwFailure();
    await this.#sender.end();
    clearInterval(this.#timer);
    await this.#committing;
    this.#throwFailure();
    await this.#write({ state: 'complete', counts: this.counts, ...this.#found });
  }

  close(): void {
    clearInterval(this.#timer);
    this.#batches.close();
    this.#failure ??= { error: new Error('The publisher is closed') };
    this.#wake();
    this.#entry.close();
  }

  async #start(): Promise<void> {
    const everyMs = Math.max(10, Math.min(this.#options.commitIntervalMs, HEARTBEAT_MS));
    this.#timer = setInterval(() => this.#tick(), everyMs);
    if (!this.#entry.isNew) await this.#goOn();
  }

  #tick(): void {
    if (this.#isDue && this.#reached !== undefined) this.#commit();
    // Also while a commit waits for acknowledgements: where the stream is full, this takes minutes.
    else if (!this.#isShowingLife && performance.now() - this.#lastWrite >= HEARTBEAT_MS)
      this.#showLife();
  }

  #showLife(): void {
    this.#isShowingLife = true;
    this.#write()
      .catch(error => this.#fail(error))
      .finally(() => {
        this.#isShowingLife = false;
      });
  }

  get #isDue(): boolean {
    const since = performance.now() - this.#lastCommit;
    return this.#committing === undefined && since >= this.#options.commitIntervalMs;
  }

  /** Commits the cursor once all that was sent before it is acknowledged; more is sent meanwhile. */
  #commit(): void {
    const cursor = this.#reached;
    if (cursor === undefined) return;
    this.#reached = undefined;
    this.#lastCommit = performance.now();
    this.#batches.sendAll();
    const { counts } = this;
    // What is sent from now on gets a higher sequence than what is acknowledged already.
    const found = this.#earlier.areBehind(counts.posts) ? this.#found : {};
    const pending = [...this.#pending];
    const commit = async () => {
      await Promise.all(pending.map(({ acked }) => acked));
      this.#throwFailure();
      const bytes = pending.reduce((sum, { sentBytes }) => sum + sentBytes, counts.bytes);
      const json = JSON.parse(JSON.stringify(cursor)) as Cursor;
      await this.#write({ cursor: json, counts: { ...counts, bytes }, ...found });
    };
    this.#committing = commit()
      .catch(error => this.#fail(error))
      .finally(() => {
        this.#committing = undefined;
      });
  }

  /** Where the next run looks for what it does not know, once all that was sent is acknowledged. */
  get #found(): Pick<PublisherState, 'seq' | 'begun' | 'positions'> {
    const { highest, positions } = this.#sender;
    return { seq: highest, begun: this.#begun, positions };
  }

  #write(changes?: Partial<PublisherState>): Promise<void> {
    this.#lastWrite = performance.now();
    return this.#entry.write(changes);
  }

  async #settled(): Promise<void> {
    await Promise.all([...this.#pending].map(({ acked }) => acked));
  }

  get #isFull(): boolean {
    const { maxInFlight } = this.#options;
    return this.#pending.size >= maxInFlight || this.#pendingBytes > MAX_IN_FLIGHT_BYTES;
  }

  /** Sends items of a subject as one message. */
  #send(subject: number, items: readonly Outgoing[]): void {
    if (this.#failure !== undefined) return;
    const [first] = items;
    const id =
      items.length === 1 && first !== undefined
        ? first.id
        : digest(items.map(item => item.id).join());
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
    message.acked = this.#deliver(message, `${this.#prefix}.${id}`).catch(error =>
      this.#fail(error),
    );
  }

  #settle(message: Pending): void {
    this.#pending.delete(message);
    const { sentBytes } = message;
    this.#pendingBytes -= message.bytes;
    this.#counts.bytes += sentBytes;
    const { progress } = this.#options;
    if (progress !== undefined) {
      progress.written += message.items.length;
      progress.writtenBytes += sentBytes;
    }
    this.#wake();
  }

  #fail(error: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = { error };
    clearInterval(this.#timer);
    this.#batches.close();
    this.#wake();
    this.#options.onFailure(error);
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  async #deliver(message: Pending, id: string): Promise<void> {
    const { subject, items, itemsBefore, at, since } = message;
    const packed = this.#options.packer.pack(items);
    const { payload, headers } = packed instanceof Promise ? await packed : packed;
    message.sentBytes = payload.length;
    const all = [...headers, [HEADERS.position, String(itemsBefore)] as const];
    await this.#sender.send({ subject, id, at, payload, since, headers: all });
    this.#settle(message);
  }

  /**
   * Begins an epoch on each subject, and reads what was published behind the committed sequence. Messages of
   * earlier epochs that come later do not count, so nothing is left to be found.
   */
  async #goOn(): Promise<void> {
    const { stream, subject, key } = this.#options;
    const { epoch, seq, begun, series, positions, counts } = this.#entry.state;
    const until = await this.#sender.begin();
    const published = await readPublished(this.#connection, {
      ...{ stream, subject, key, begun, series, positions },
      ...{ after: seq, until, cursor: this.cursor },
    });
    await this.#sender.goOn(published.positions);
    this.#begun = epoch;
    this.#earlier = new EarlierItems(published, counts.posts);
  }
}
