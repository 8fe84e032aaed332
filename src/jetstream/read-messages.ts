import os from 'node:os';
import type {
  Consumer,
  ConsumerMessages,
  JsMsg,
  NextMsgRequest,
  SeqMsgRequest,
  StreamInfo,
} from '@nats-io/jetstream';
import { abortable } from '../base/abortable.js';
import { realTime } from '../http/timing.js';
import type { JetStreamConnection } from './connection.js';
import { JetStreamError, StaleAnswer } from './jet-stream-errors.js';
import { lostWithin, type Range, rangesOf } from './positions.js';
import { NANOSECONDS, type OpenedStream } from './stream-settings.js';

/** How long a request for messages waits for more messages, in milliseconds. */
const EXPIRES_MS = 2_000;
const HEARTBEAT_MS = 500;
/** How long a consumer may be silent before the servers delete it, in milliseconds. */
const INACTIVE_MS = 30_000;
/**
 * The number of messages in the first request. It is small, because the size of the messages is not known
 * yet, and by default, a message may have up to 1 MiB. Later requests ask for as many messages as fit in
 * `REQUEST_BYTES`, based on the size of the messages so far.
 */
const FIRST_REQUEST = 16;
const MAX_REQUEST = 2_000;
const REQUEST_BYTES = 4 << 20;
/** The maximum number of messages that are delivered together. */
const MAX_GROUP = 500;
/** How long to wait before the next request if a leader does not have all messages yet, in milliseconds. */
const BEHIND_WAIT_MS = 100;

export interface ReadOptions {
  /**
   * The name of the stream, and when it was created. A stream of the same name that was created at another
   * time is refused.
   */
  readonly stream: Pick<OpenedStream, 'name' | 'created'>;
  /** The subject to read, or a wildcard such as `posts.*`. */
  readonly subject: string;
  /** The sequence after which to start. */
  readonly after: number;
  /** The last sequence to read. It need not exist yet. @default reading never ends */
  readonly until?: number | undefined;
  readonly headersOnly?: boolean | undefined;
}

/**
 * Either messages of a subject without a gap between them, or the sequences of messages that the stream has
 * lost.
 */
export interface MessageGroup {
  readonly messages: readonly JsMsg[];
  /**
   * The sequences of messages that the stream has dropped or deleted. Set only if `messages` is empty. Some
   * of these messages may have been on other subjects.
   */
  readonly lost?: Range | undefined;
  /** All messages of the subject up to this sequence have been read. */
  readonly position: number;
  /**
   * How many messages of the subject the stream had after the last received message, at the time when the
   * server delivered that message.
   */
  readonly behind: number;
}

/**
 * Reads the messages of a subject in order. After a retryable failure, a new consumer continues after the
 * last received message, so it does not matter if the servers lose the state of a consumer. Such a failure
 * ends the reading only if it lasts for `maxOutageMs`.
 *
 * Uses `fetch` repeatedly, because the client's `consume` sometimes delivers nothing after a stream's leader
 * was restarted.
 */
export function readMessages(
  connection: JetStreamConnection,
  options: ReadOptions,
): AsyncGenerator<MessageGroup> {
  return new MessageReader(connection, options).groups();
}

class MessageReader {
  readonly #connection: JetStreamConnection;
  readonly #options: ReadOptions;
  readonly #until: number;
  #position: number;
  /**
   * The value of `performance.now()` when the consumer first failed to deliver messages that the stream has;
   * `undefined` if the consumer delivers.
   */
  #stalledSince: number | undefined;
  #consumer: Consumer | undefined;
  /**
   * How many more messages of the subject the stream had when the server sent the last received message. NaN
   * if unknown.
   */
  #behind = Number.NaN;
  #requested = FIRST_REQUEST;
  #delivered = 0;

  constructor(connection: JetStreamConnection, options: ReadOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#position = options.after;
    this.#until = options.until ?? Number.POSITIVE_INFINITY;
  }

  async *groups(): AsyncGenerator<MessageGroup> {
    try {
      yield* this.#groups();
    } finally {
      // If the deletion fails, the servers delete the consumer after `INACTIVE_MS`.
      if (!this.#connection.signal.aborted) this.#consumer?.delete().catch(() => {});
    }
  }

  async *#groups(): AsyncGenerator<MessageGroup> {
    yield* this.#catchUp();
    while (this.#position < this.#until) {
      const before = this.#position;
      for await (const group of this.#fetch()) {
        yield group;
        // Checks now whether the end is reached. Otherwise the reader would notice the end only
        // when the request expires.
        if (this.#behind === 0 && this.#until !== Number.POSITIVE_INFINITY) yield* this.#catchUp();
        if (this.#position >= this.#until) return;
      }
      if (this.#position === before) {
        // The request delivered nothing. If the stream still has messages of the subject, the consumer has
        // failed, and a new consumer replaces it.
        if (yield* this.#catchUp()) this.#consumer = undefined;
      }
    }
  }

  /**
   * Moves the position past messages of other subjects. If the stream lost them later, they would otherwise
   * be reported as lost messages of this subject. Yields the ranges of sequences that the stream has already
   * dropped. Returns whether the stream has more messages of this subject to read.
   */
  async *#catchUp(): AsyncGenerator<MessageGroup, boolean> {
    const info = await this.#info(this.#position);
    const next = await this.#nextFrom(this.#position + 1);
    if (next === undefined) this.#behind = 0;
    const { state, cluster } = await this.#info(info.state.last_seq);
    const dropped = Math.min(state.first_seq - 1, this.#until);
    for (const range of lostWithin(this.#position + 1, dropped, []))
      yield this.#moveTo(range.to, [], range);
    if (next !== undefined && next > this.#position && next <= this.#until) {
      this.#stalled();
      return true;
    }
    this.#stalledSince = undefined;
    // Between `#position` and the last sequence in `info`, the stream has no message of this subject. This is
    // certain only if the leader has not changed between the two calls of `#info`.
    if (info.state.last_seq > this.#position && cluster?.leader === info.cluster?.leader)
      yield this.#moveTo(Math.min(info.state.last_seq, this.#until), []);
    return false;
  }

  /**
   * Returns the first sequence, from `seq` on, that has a message of the subject. The servers also offer a
   * request for the last message of a subject. It cannot be used, because nats-server 2.9 answers that the
   * subject has no messages if the last one was deleted.
   */
  async #nextFrom(seq: number): Promise<number | undefined> {
    const { stream, subject } = this.#options;
    const request: SeqMsgRequest & NextMsgRequest = { seq, next_by_subj: subject };
    const message = await this.#connection.repeat(this.#reading, () =>
      this.#connection.manager.streams.getMessage(stream.name, request),
    );
    return message?.seq;
  }

  get #reading(): string {
    return `read the stream ${this.#options.stream.name}`;
  }

  /**
   * Called if the stream has messages that the consumer has not delivered. Throws if this state lasts for
   * `maxOutageMs`, or at once if the login does not permit requests for messages from a consumer.
   */
  #stalled(): void {
    const now = performance.now();
    this.#stalledSince ??= now;
    const { name } = this.#options.stream;
    const denied = this.#connection.denial(`.CONSUMER.MSG.NEXT.${name}.`);
    if (denied === undefined && now - this.#stalledSince <= this.#connection.maxOutageMs) return;
    const stale = new StaleAnswer('no consumer delivers its messages');
    throw this.#connection.error(this.#reading, denied ?? stale);
  }

  async *#fetch(): AsyncGenerator<MessageGroup> {
    const connection = this.#connection;
    const messages = await connection.repeat(this.#reading, () => this.#request());
    try {
      const iterator = messages[Symbol.asyncIterator]();
      while (true) {
        const group = await this.#next(messages, iterator);
        if (group.length === 0) return;
        const bytes = group.reduce((sum, { data }) => sum + data.length, 0) / group.length;
        const fitting = Math.floor(REQUEST_BYTES / Math.max(1, bytes));
        this.#requested = Math.max(1, Math.min(MAX_REQUEST, fitting));
        this.#stalledSince = undefined;
        yield* this.#checked(group);
        connection.signal.throwIfAborted();
      }
    } finally {
      messages.stop();
    }
  }

  /**
   * Waits for messages of the current request and returns them. Returns an empty array if a new request is
   * needed, because this one has ended or has failed with a retryable error.
   */
  async #next(messages: ConsumerMessages, iterator: AsyncIterator<JsMsg>): Promise<JsMsg[]> {
    const { signal } = this.#connection;
    const group: JsMsg[] = [];
    try {
      do {
        const { done, value } = await abortable(iterator.next(), signal);
        if (done) break;
        const { deliverySequence, streamSequence, pending } = value.info;
        this.#behind = pending;
        if (deliverySequence !== ++this.#delivered) {
          // A message was lost in transit. A new consumer will deliver it again.
          this.#consumer = undefined;
          break;
        }
        if (streamSequence > this.#position) group.push(value);
      } while (messages.getPending() > 0 && group.length < MAX_GROUP);
    } catch (error) {
      signal.throwIfAborted();
      const typed = this.#connection.error('read the stream', error);
      if (!(typed instanceof JetStreamError) || !typed.retryable) throw typed;
      this.#consumer = undefined;
    }
    return group;
  }

  /**
   * Yields the messages of a group. Between them, yields each range of sequences that the stream no longer
   * has, in stream order.
   */
  async *#checked(group: readonly JsMsg[]): AsyncGenerator<MessageGroup> {
    const last = group.at(-1)?.seq ?? 0;
    const from = this.#position + 1;
    const end = Math.min(last, this.#until);
    const wanted = group.filter(({ seq }) => seq <= end);
    let next = 0;
    for (const range of await this.#lost(group, from, last)) {
      if (range.from > end) break;
      const start = next;
      while (next < wanted.length && (wanted[next] as JsMsg).seq < range.from) next++;
      if (next > start) yield this.#moveTo(range.from - 1, wanted.slice(start, next));
      yield this.#moveTo(Math.min(range.to, end), [], range);
    }
    if (this.#position < end) yield this.#moveTo(end, wanted.slice(next));
  }

  /**
   * Returns the sequences from `from` to `last` whose messages the stream has dropped or deleted. The other
   * sequences in this range either have a message of `group` or belong to other subjects.
   */
  async #lost(group: readonly JsMsg[], from: number, last: number): Promise<readonly Range[]> {
    if (last - from + 1 === group.length) return [];
    // The state is read after the messages have arrived. A message that the stream still has now
    // was also there when the stream delivered these messages.
    const { state } = await this.#info(last);
    if (state.first_seq <= from && state.num_deleted === 0) return [];
    const sequences = group.map(({ seq }) => seq);
    const dropped = lostWithin(from, Math.min(last, state.first_seq - 1), sequences);
    if (state.num_deleted === 0) return dropped;
    const { stream } = this.#options;
    const info = await this.#connection.streamInfo(stream.name, { deleted_details: true });
    const deleted = info.state.deleted ?? [];
    const gone = deleted.filter(seq => seq >= Math.max(from, state.first_seq) && seq <= last);
    return [...dropped, ...rangesOf(gone)];
  }

  #moveTo(position: number, messages: readonly JsMsg[], lost?: Range): MessageGroup {
    this.#position = position;
    return { position, messages, lost, behind: this.#behind };
  }

  async #request(): Promise<ConsumerMessages> {
    this.#consumer ??= await this.#makeConsumer();
    return this.#consumer.fetch({
      // Does not set `max_bytes`. Servers end such a request without a message about it, so the client would
      // notice the end only when heartbeats are missing.
      max_messages: this.#requested,
      expires: EXPIRES_MS,
      idle_heartbeat: HEARTBEAT_MS,
    });
  }

  async #makeConsumer(): Promise<Consumer> {
    const { client, manager, packages } = this.#connection;
    const { AckPolicy, DeliverPolicy } = packages.jetstream;
    const { stream, subject, headersOnly } = this.#options;
    const info = await manager.consumers.add(stream.name, {
      // `nats consumer report` shows this, together with the number of messages that were not delivered yet.
      description: `millrace fromJetStream, process ${process.pid} of ${os.hostname()}`,
      ack_policy: AckPolicy.None,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: this.#position + 1,
      filter_subject: subject,
      inactive_threshold: INACTIVE_MS * NANOSECONDS,
      mem_storage: true,
      num_replicas: 1,
      ...(headersOnly === true && { headers_only: true }),
    });
    this.#delivered = 0;
    return client.consumers.getConsumerFromInfo(info);
  }

  /**
   * Returns the state of the stream, from a server that has the messages of the stream up to this sequence.
   */
  async #info(sequence: number): Promise<StreamInfo> {
    const { name, created } = this.#options.stream;
    const started = performance.now();
    while (true) {
      const info = await this.#connection.streamInfo(name);
      if (info.created !== created) throw remade(name, created, info.created);
      if (info.state.last_seq >= sequence) return info;
      // The server may be a new leader that has not applied its whole log yet, so it is asked again after a
      // wait.
      if (performance.now() - started > this.#connection.maxOutageMs)
        throw behind(name, sequence, info);
      await realTime.sleep(BEHIND_WAIT_MS, this.#connection.signal);
    }
  }
}

export function remade(stream: string, before: string, now: string): JetStreamError {
  return new JetStreamError(
    `The stream ${stream} was deleted and recreated: the cursor belongs to the stream created at ${before}, and this one was created at ${now}. Delete the checkpoint to read this stream from its start`,
    { failure: 'stream' },
  );
}

function behind(stream: string, sequence: number, { state }: StreamInfo): JetStreamError {
  return new JetStreamError(
    `The stream ${stream} ends at sequence ${state.last_seq}, but this reader has already read up to ${sequence}: its servers have lost messages, or it was restored from a backup. New messages would reuse sequences that it has read. Delete the checkpoint to read it from its start`,
    { failure: 'stream' },
  );
}
