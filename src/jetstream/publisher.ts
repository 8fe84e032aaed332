import type { PubAck } from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';
import type { Cursor, FlowIdentity } from '../flow/flow.js';
import type { Progress } from '../flow/progress.js';
import type { JetStreamConnection } from './connection.js';
import { JetStreamError } from './jet-stream-error.js';
import { digest, HEADERS, type Headers, type Outgoing } from './message.js';
import type { Packer } from './packer.js';
import { EarlierItems, type Published, readPublished } from './published.js';
import { nextEpoch, type PublishedCounts, PublisherEntry } from './publisher-entry.js';
import type { OpenedStream } from './stream-settings.js';
import { SubjectBatches } from './subject-batches.js';
import { subjectNumber } from './subjects.js';

/** How often the servers hear of a publisher that has nothing to commit. */
const HEARTBEAT_MS = 1_000;
const PUBLISH_MS = 5_000;
const MAX_IN_FLIGHT_BYTES = 16 << 20;

export interface PublisherOptions {
  /** The name of the publisher in the bucket. */
  readonly key: string;
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
  /** The same for each try. */
  readonly id: string;
  readonly items: readonly Outgoing[];
  readonly position: number;
  /** The bytes of its items. */
  readonly bytes: number;
  /** The bytes of its payload, once it is packed. */
  sentBytes: number;
  readonly since: number;
  acked: Promise<void>;
}

/** Where an epoch of this run begins on each subject. */
interface Begin {
  readonly epoch: number;
  readonly sequences: readonly number[];
}

/**
 * Publishes items so that each counts once, whatever the duplicate window of the stream. Where it is unknown
 * whether the stream has a message, as after a start or a timeout, the publisher begins an epoch on all
 * subjects (`epochs.ts`), reads what it has published behind the committed sequence, and publishes the rest:
 * what of the epoch before is still on its way, readers leave out.
 */
export class Publisher {
  readonly #connection: JetStreamConnection;
  readonly #entry: PublisherEntry;
  readonly #options: PublisherOptions;
  readonly #prefix: string;
  readonly #batches: SubjectBatches;
  readonly #pending = new Set<Pending>();
  #pendingBytes = 0;
  #wake: () => void = () => {};
  #earlier = new EarlierItems({ items: new Map(), end: 0 }, 0);
  #counts: PublishedCounts;
  /** The highest sequence that was acknowledged. */
  #highest: number;
  readonly #begins: Begin[] = [];
  /** The epoch that has begun on all subjects. */
  #begun: number;
  /** Set while an epoch begins: nothing is sent meanwhile. */
  #renewal: Promise<void> | undefined;
  #attempts = 0;
  /** The cursor after all items up to now. */
  #reached: Cursor | undefined;
  #committing: Promise<void> | undefined;
  #lastCommit = performance.now();
  #lastWrite = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #failure: { readonly error: unknown } | undefined;

  /** @throws JetStreamError where another process has the name. */
  static async start(
    connection: JetStreamConnection,
    kv: KV,
    options: PublisherOptions,
  ): Promise<Publisher> {
    const entry = await PublisherEntry.takeOver(connection, kv, options);
    const publisher = new Publisher(connection, entry, options);
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
    this.#counts = entry.state.counts;
    this.#highest = entry.state.seq;
    this.#begun = entry.state.begun;
    this.#batches = new SubjectBatches(
      options.packer,
      () => connection.maxPayload,
      (subject, items) => this.#send(subject, items),
    );
    this.#prefix = digest(JSON.stringify([options.key, options.flow]));
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
    return this.#counts;
  }

  /** Publishes an item, unless the stream has it from a run before this one; waits while too much is on its way. */
  async add(item: Outgoing): Promise<void> {
    this.#throwFailure();
    this.#reached = undefined;
    this.#counts = { ...this.#counts, posts: this.#counts.posts + 1 };
    const found = this.#earlier.pass(item.id);
    if (found !== undefined) {
      const { posts, messages, bytes } = this.#counts;
      if (found.bytes !== undefined)
        this.#counts = { posts, messages: messages + 1, bytes: bytes + found.bytes };
      return;
    }
    this.#batches.add(subjectNumber(item.id, this.#options.stream.subjects.length), item);
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

  /** Waits for all acknowledgements, and notes that the flow is complete. */
  async finish(): Promise<void> {
    clearInterval(this.#timer);
    this.#batches.sendAll();
    await this.#settled();
    await this.#committing;
    this.#throwFailure();
    const { epoch: begun } = this.#entry.state;
    await this.#entry.write({ state: 'complete', counts: this.#counts, seq: this.#highest, begun });
  }

  close(): void {
    clearInterval(this.#timer);
    this.#batches.close();
    this.#failure ??= { error: new Error('The publisher is closed') };
    this.#wake();
    this.#entry.close();
  }

  async #start(): Promise<void> {
    if (this.#entry.isNew) this.#begins.push({ epoch: this.#begun, sequences: [] });
    else {
      const { posts } = this.#entry.state.counts;
      this.#earlier = new EarlierItems(await this.#begin(), posts);
    }
    const everyMs = Math.max(10, Math.min(this.#options.commitIntervalMs, HEARTBEAT_MS));
    this.#timer = setInterval(() => this.#tick(), everyMs);
  }

  #tick(): void {
    if (this.#committing !== undefined) return;
    if (this.#isDue && this.#reached !== undefined) this.#commit();
    else if (performance.now() - this.#lastWrite >= HEARTBEAT_MS)
      this.#write(() => this.#entry.write());
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
    const counts = this.#counts;
    // What is sent from now on gets a higher sequence than what is acknowledged already.
    const found = this.#earlier.areBehind(counts.posts)
      ? { seq: this.#highest, begun: this.#begun }
      : {};
    const pending = [...this.#pending];
    this.#write(async () => {
      await Promise.all(pending.map(({ acked }) => acked));
      this.#throwFailure();
      const bytes = pending.reduce((sum, { sentBytes }) => sum + sentBytes, counts.bytes);
      const json = JSON.parse(JSON.stringify(cursor)) as Cursor;
      await this.#entry.write({ cursor: json, counts: { ...counts, bytes }, ...found });
    });
  }

  #write(write: () => Promise<void>): void {
    this.#lastWrite = performance.now();
    this.#committing = write()
      .catch(error => this.#fail(error))
      .finally(() => {
        this.#committing = undefined;
      });
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
    const ids = items.map(({ id }) => id);
    const { posts, messages, bytes } = this.#counts;
    const message: Pending = {
      ...{ subject, items, sentBytes: 0, since: performance.now(), acked: Promise.resolve() },
      id: `${this.#prefix}.${ids.length === 1 ? ids[0] : digest(ids.join())}`,
      position: posts - items.length,
      bytes: items.reduce((sum, { payload }) => sum + payload.length, 0),
    };
    this.#counts = { posts, messages: messages + 1, bytes };
    this.#pending.add(message);
    this.#pendingBytes += message.bytes;
    message.acked = this.#deliver(message).catch(error => this.#fail(error));
  }

  #settle(message: Pending): void {
    if (!this.#pending.delete(message)) return;
    const { sentBytes } = message;
    this.#pendingBytes -= message.bytes;
    this.#counts = { ...this.#counts, bytes: this.#counts.bytes + sentBytes };
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

  /** Publishes a message until the stream has it. */
  async #deliver(message: Pending): Promise<void> {
    const { stream, packer } = this.#options;
    const { payload, headers } = await packer.pack(message.items);
    message.sentBytes = payload.length;
    const what = `publish to ${stream.subjects[message.subject]}`;
    const pairs: Headers = [...headers, [HEADERS.position, String(message.position)]];
    let id = message.id;
    for (let attempt = 1; ; attempt++) {
      while (this.#renewal !== undefined) await this.#renewal;
      if (!this.#pending.has(message)) return;
      const { epoch } = this.#entry.state;
      try {
        const ack = await this.#publish(message.subject, id, pairs, payload);
        if (!ack.duplicate || (await this.#isCounted(message.subject, ack.seq))) {
          this.#settle(message);
          return;
        }
        // The stream has it from before an epoch that readers leave out.
        id = `${message.id}.${epoch}`;
      } catch (error) {
        const failure = await this.#connection.mayPass(what, error, message.since, attempt);
        if (failure.isUnknown && epoch === this.#entry.state.epoch) this.#renew();
      }
    }
  }

  get #epochHeaders(): Headers {
    return [
      [HEADERS.publisher, this.#options.key],
      [HEADERS.epoch, String(this.#entry.state.epoch)],
    ];
  }

  async #publish(
    subject: number,
    msgID: string,
    pairs: Headers,
    payload: Uint8Array,
  ): Promise<PubAck> {
    const { client, packages } = this.#connection;
    const { stream } = this.#options;
    const headers = packages.core.headers();
    for (const [name, value] of this.#epochHeaders) headers.set(name, value);
    for (const [name, value] of pairs) headers.set(name, value);
    this.#attempts++;
    const before = this.#highest;
    try {
      const ack = await client.publish(stream.subjects[subject] ?? '', payload, {
        ...{ msgID, headers, timeout: PUBLISH_MS },
        expect: { streamName: stream.name },
      });
      if (!ack.duplicate && ack.seq <= before) throw this.#shrunk(before, ack.seq);
      this.#highest = Math.max(this.#highest, ack.seq);
      return ack;
    } finally {
      this.#attempts--;
    }
  }

  /** Whether readers count a message: none of the epochs after its own begins before it. */
  async #isCounted(subject: number, seq: number): Promise<boolean> {
    const { stream, key } = this.#options;
    const message = await this.#connection.repeat('find a repeated message', () =>
      this.#connection.manager.streams.getMessage(stream.name, { seq }),
    );
    if (message === null || message.header.get(HEADERS.publisher) !== key) return false;
    const epoch = Number(message.header.get(HEADERS.epoch));
    const first = this.#begins[0]?.epoch ?? 0;
    // Of an earlier run, the ones that count were found when this run began.
    if (epoch < first) return false;
    return this.#begins.every(
      begin => begin.epoch <= epoch || (begin.sequences[subject] ?? 0) > seq,
    );
  }

  /** Begins an epoch because it is unknown which messages the stream has. */
  #renew(): void {
    if (this.#renewal !== undefined) return;
    this.#renewal = this.#renewNow().finally(() => {
      this.#renewal = undefined;
    });
    // Each message that waits for it reports the failure.
    this.#renewal.catch(() => {});
  }

  async #renewNow(): Promise<void> {
    // No message of the epoch before may be sent after it has ended.
    while (this.#attempts > 0) await new Promise(resolve => setTimeout(resolve, 10));
    this.#throwFailure();
    await this.#entry.write({ epoch: nextEpoch(this.#entry.state.epoch) });
    const { messageIds } = await this.#begin();
    for (const message of [...this.#pending]) {
      const found = [...messageIds].some(
        id => id === message.id || id.startsWith(`${message.id}.`),
      );
      if (found) this.#settle(message);
    }
  }

  /**
   * Begins the epoch on each subject, and reads what was published behind the committed sequence. Messages of
   * earlier epochs that come later do not count, so what is found is all there is.
   */
  async #begin(): Promise<Published> {
    const { stream, subject, key } = this.#options;
    const { epoch, seq, begun } = this.#entry.state;
    const acks = await Promise.all(
      stream.subjects.map((name, number) =>
        this.#connection.repeat(`publish to ${name}`, () =>
          this.#publish(number, `${this.#prefix}.begin.${epoch}.${number}`, [], new Uint8Array()),
        ),
      ),
    );
    const sequences = acks.map(ack => ack.seq);
    const published = await readPublished(this.#connection, {
      ...{ stream, subject, key, begun, after: seq, until: Math.max(...sequences) },
      cursor: this.cursor,
    });
    this.#begins.push({ epoch, sequences });
    this.#begun = epoch;
    return published;
  }

  #shrunk(before: number, now: number): JetStreamError {
    const { stream } = this.#options;
    return new JetStreamError(
      `toJetStream: the stream ${stream.name} had messages up to sequence ${before}, and the next one got ${now}: it was made again during the run, or its servers have lost messages. Publish everything again under another \`name\``,
      { failure: 'stream', cursor: this.cursor },
    );
  }
}
