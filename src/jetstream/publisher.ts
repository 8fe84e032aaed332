import type { PubAck } from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';
import { DataError } from '../errors.js';
import type { Cursor, FlowIdentity } from '../flow/flow.js';
import type { Progress } from '../flow/progress.js';
import type { JetStreamConnection } from './connection.js';
import { Epochs } from './epochs.js';
import { JetStreamError } from './jet-stream-error.js';
import { digest, HEADERS, type Headers, type Outgoing } from './message.js';
import type { Packer } from './packer.js';
import { nextEpoch, type PublishedCounts, PublisherEntry } from './publisher-entry.js';
import { readMessages } from './read-messages.js';
import type { OpenedStream } from './stream-settings.js';
import { subjectNumber } from './subjects.js';

/** How often the servers hear of a publisher that has nothing to commit. */
const HEARTBEAT_MS = 1_000;
const PUBLISH_MS = 5_000;
const MAX_IN_FLIGHT_BYTES = 16 << 20;
/** Items by which the order of a source may differ from run to run. */
const SLACK = 1_000;

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

/** An item that the stream has behind the committed sequence. */
interface Found {
  /** Its position, or one before it in the same batch. */
  readonly position: number;
  /** The bytes of its message, where it is the first item. */
  readonly bytes: number | undefined;
}

/** What the stream has of this publisher behind the committed sequence. */
interface Published {
  readonly items: ReadonlyMap<string, Found>;
  readonly messageIds: ReadonlySet<string>;
  /** How many items had been added when the last one was sent. */
  readonly end: number;
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
  /** Items that wait for others of their subject. */
  readonly #batches = new Map<number, { readonly items: Outgoing[]; size: number }>();
  #batchTimer: NodeJS.Timeout | undefined;
  readonly #pending = new Set<Pending>();
  #pendingBytes = 0;
  #wake: () => void = () => {};
  /** What the stream has from runs before this one. */
  #published: ReadonlyMap<string, Found> = new Map();
  /** Those of them that the flow has not come to. */
  readonly #unseen = new Set<string>();
  /** Where the flow has come to all of them: a count of items. */
  #allSeen = 0;
  #counts: PublishedCounts;
  /** How many items were committed when this run began. */
  readonly #started: number;
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
    this.#started = entry.state.counts.posts;
    this.#highest = entry.state.seq;
    this.#begun = entry.state.begun;
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
    const found = this.#published.get(item.id);
    if (found !== undefined) {
      if (this.#unseen.delete(item.id) && found.bytes !== undefined) {
        const { posts, messages, bytes } = this.#counts;
        this.#counts = { posts, messages: messages + 1, bytes: bytes + found.bytes };
      }
      return;
    }
    const { packer, stream } = this.#options;
    const maxBytes = this.#connection.maxPayload;
    const size = packer.sizeOf(item);
    if (!packer.fits(1, size, maxBytes))
      throw new DataError(
        `The item ${item.id} has ${item.payload.length} bytes, and the servers accept ${maxBytes} with its headers (max_payload)`,
      );
    const subject = subjectNumber(item.id, stream.subjects.length);
    let batch = this.#batches.get(subject);
    if (batch !== undefined && !packer.fits(batch.items.length + 1, batch.size + size, maxBytes)) {
      this.#seal(subject);
      batch = undefined;
    }
    if (batch === undefined) {
      batch = { items: [], size: 0 };
      this.#batches.set(subject, batch);
    }
    batch.items.push(item);
    batch.size += size;
    if (packer.isFull(batch.items.length, batch.size)) this.#seal(subject);
    else this.#batchTimer ??= setTimeout(() => this.#sealAll(), packer.waitMs);
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
    this.#sealAll();
    await this.#settled();
    await this.#committing;
    this.#throwFailure();
    const { epoch: begun } = this.#entry.state;
    await this.#entry.write({ state: 'complete', counts: this.#counts, seq: this.#highest, begun });
  }

  close(): void {
    clearInterval(this.#timer);
    clearTimeout(this.#batchTimer);
    this.#failure ??= { error: new Error('The publisher is closed') };
    this.#wake();
    this.#entry.close();
  }

  async #start(): Promise<void> {
    if (this.#entry.isNew) this.#begins.push({ epoch: this.#begun, sequences: [] });
    else {
      const { items, end } = await this.#begin();
      this.#published = items;
      this.#allSeen = end;
      for (const id of items.keys()) this.#unseen.add(id);
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
    this.#sealAll();
    const counts = this.#counts;
    // What is sent from now on gets a higher sequence than what is acknowledged already.
    const found = this.#hasPassed ? { seq: this.#highest, begun: this.#begun } : {};
    const pending = [...this.#pending];
    this.#write(async () => {
      await Promise.all(pending.map(({ acked }) => acked));
      this.#throwFailure();
      const bytes = pending.reduce((sum, { sentBytes }) => sum + sentBytes, counts.bytes);
      const json = JSON.parse(JSON.stringify(cursor)) as Cursor;
      await this.#entry.write({ cursor: json, counts: { ...counts, bytes }, ...found });
    });
  }

  /**
   * Whether the flow has passed all that runs before this one had published behind the committed sequence. Until
   * then that sequence stays, or a next run would not find what the flow has yet to come to.
   */
  get #hasPassed(): boolean {
    if (this.#unseen.size === 0) return true;
    const { posts } = this.#counts;
    if (posts < this.#allSeen) return false;
    const start = this.#started;
    const isBehind = [...this.#unseen].every(
      id => (this.#published.get(id)?.position ?? 0) < start,
    );
    // An item may never come again, as it was deleted at the source.
    return isBehind || posts >= this.#allSeen + 2 * (this.#allSeen - start) + SLACK;
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

  #sealAll(): void {
    clearTimeout(this.#batchTimer);
    this.#batchTimer = undefined;
    for (const subject of [...this.#batches.keys()]) this.#seal(subject);
  }

  /** Sends what waits for a subject as one message. */
  #seal(subject: number): void {
    const items = this.#batches.get(subject)?.items;
    this.#batches.delete(subject);
    if (items === undefined || this.#failure !== undefined) return;
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
    clearTimeout(this.#batchTimer);
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
    const before = Object.fromEntries(stream.subjects.map(name => [`${key} ${name}`, begun]));
    const epochs = new Epochs(before);
    const items = new Map<string, Found>();
    const messageIds = new Set<string>();
    let end = 0;
    const groups = readMessages(this.#connection, {
      ...{ stream: stream.name, created: stream.created, subject: `${subject}.*`, after: seq },
      ...{ until: Math.max(...sequences), headersOnly: true },
    });
    for await (const { messages, lost } of groups) {
      if (lost !== undefined) throw this.#unprovable(lost.to);
      for (const { headers, subject: name } of messages) {
        if (headers?.get(HEADERS.publisher) !== key || !epochs.admits(name, headers)) continue;
        const list = headers.get(HEADERS.ids);
        // The beginning of an epoch.
        if (list === '') continue;
        messageIds.add(headers.get('Nats-Msg-Id'));
        const ids = list.split(',');
        const position = Number(headers.get(HEADERS.position));
        end = Math.max(end, position + ids.length);
        for (const [index, id] of ids.entries()) {
          const bytes = index === 0 ? Number(headers.get('Nats-Msg-Size')) : undefined;
          if (!items.has(id)) items.set(id, { position, bytes });
        }
      }
    }
    this.#begins.push({ epoch, sequences });
    this.#begun = epoch;
    return { items, messageIds, end };
  }

  #shrunk(before: number, now: number): JetStreamError {
    const { stream } = this.#options;
    return new JetStreamError(
      `toJetStream: the stream ${stream.name} had messages up to sequence ${before}, and the next one got ${now}: it was made again during the run, or its servers have lost messages. Publish everything again under another \`name\``,
      { failure: 'stream', cursor: this.cursor },
    );
  }

  #unprovable(sequence: number): JetStreamError {
    const { key, stream } = this.#options;
    return new JetStreamError(
      `toJetStream: the stream ${stream.name} has dropped messages up to sequence ${sequence}, and the publisher ${key} had committed up to ${this.#entry.state.seq}: what it published in between is unknown, so that posts could come twice. Keep messages for longer than a publisher may be down, or delete the entry of the publisher to publish everything again`,
      { failure: 'publisher', cursor: this.cursor },
    );
  }
}
