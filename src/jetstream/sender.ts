import type { PubAck } from '@nats-io/jetstream';
import type { JetStreamConnection } from './connection.js';
import { errorOfOwnMessage, JetStreamError } from './jet-stream-errors.js';
import {
  epochOf,
  HEADERS,
  type SubjectPosition,
  shownPosition,
  subjectPositionOf,
} from './message.js';
import { digest, type Packed } from './packer.js';
import { PositionSet } from './positions.js';
import type { PublisherEntry } from './publisher-entry.js';
import type { OpenedStream } from './stream-settings.js';

const NO_BYTES = new Uint8Array();

export interface PostsMessage extends Packed {
  readonly subject: number;
  /** The id of the message, without the prefix for the publisher. */
  readonly id: string;
  readonly at: SubjectPosition;
  /** When the message was created. `maxOutageMs` counts from this time. */
  readonly since: number;
}

/** A message as it is sent in one try. */
interface Attempt extends Packed {
  readonly subject: number;
  readonly msgID: string;
  /**
   * The position of the message on its subject. `undefined` if the message only announces a new start of the
   * publisher.
   */
  readonly at?: SubjectPosition;
}

/**
 * Sends each message until the servers acknowledge it. A message keeps its position on its subject in all
 * tries. Readers can therefore skip messages that the stream has stored twice, and notice lost messages
 * (`positions.ts`).
 */
export class Sender {
  readonly #connection: JetStreamConnection;
  readonly #entry: PublisherEntry;
  readonly #stream: OpenedStream;
  /** The prefix of all message ids. It is specific to the publisher and its flow. */
  readonly #prefix: string;
  /** The highest acknowledged sequence. */
  #highest: number;
  /** The acknowledged positions on each subject, by the index of the subject. */
  #acked: readonly PositionSet[];
  /** The position of the next message on each subject, by the index of the subject. */
  #next: number[];

  constructor(connection: JetStreamConnection, entry: PublisherEntry, stream: OpenedStream) {
    this.#connection = connection;
    this.#entry = entry;
    this.#stream = stream;
    this.#prefix = digest(JSON.stringify([entry.key, entry.state.flow]));
    this.#highest = entry.state.seq;
    this.#acked = stream.subjects.map(() => new PositionSet());
    this.#next = this.#acked.map(() => 0);
  }

  get highest(): number {
    return this.#highest;
  }

  /** The number of assigned positions on each subject, by the index of the subject. */
  get positions(): readonly number[] {
    return [...this.#next];
  }

  take(subject: number): SubjectPosition {
    const position = this.#next[subject] ?? 0;
    this.#next[subject] = position + 1;
    const { series } = this.#entry.state;
    return { position, acknowledged: this.#acked[subject]?.wholeUntil ?? 0, series };
  }

  /**
   * Begins the epoch of this run by sending a message without posts on each subject. Returns the highest
   * sequence of these messages. After this sequence, readers skip messages of earlier epochs.
   */
  async begin(): Promise<number> {
    const { epoch } = this.#entry.state;
    const acks = await Promise.all(
      this.#stream.subjects.map((name, subject) =>
        this.#connection.repeat(`publish to ${name}`, () => {
          const msgID = `${this.#prefix}.begin.${epoch}.${subject}`;
          return this.#publish({ subject, msgID, headers: [], payload: NO_BYTES });
        }),
      ),
    );
    return Math.max(...acks.map(({ seq }) => seq));
  }

  /**
   * Continues after the positions that earlier runs have used on each subject. If the stream lacks a message
   * at one of these positions, sends a message without posts there, because positions must have no gaps.
   *
   * @param found the positions of the messages in the stream, by the index of the subject
   */
  async resume(found: readonly PositionSet[]): Promise<void> {
    this.#acked = found;
    this.#next = found.map(({ next }) => next);
    // It is unknown which messages were acknowledged when the earlier run assigned these positions. With
    // `acknowledged: 0`, the new messages state nothing about other messages.
    const old = { acknowledged: 0, series: this.#entry.state.series };
    const sent = found.flatMap((positions, subject) =>
      positions.missing().flatMap(({ from, to }) => {
        const count = to - from + 1;
        return Array.from({ length: count }, (_, index) =>
          this.#sendEmpty(subject, { ...old, position: from + index }),
        );
      }),
    );
    await Promise.all(sent);
  }

  /**
   * Ends each subject with a message without posts. Each message tells readers what was acknowledged before
   * it, so one more message must follow the last message with posts.
   */
  async end(): Promise<void> {
    const used = this.#next.flatMap((position, subject) => (position > 0 ? [subject] : []));
    await Promise.all(used.map(subject => this.#sendEmpty(subject, this.take(subject))));
  }

  async send({ subject, id, at, headers, payload, since }: PostsMessage): Promise<void> {
    const ownID = `${this.#prefix}.${id}`;
    let msgID = ownID;
    let otherRuns = 0;
    const what = `publish to ${this.#stream.subjects[subject]}`;
    const sendOnce = async () => {
      while (true) {
        const ack = await this.#publish({ subject, msgID, at, headers, payload });
        const found = ack.duplicate ? await this.#find(ack.seq) : at.position;
        if (found !== undefined) return found;
        // The stream has a copy of this message from an earlier run that was still sending after this run had
        // started. Readers skip that copy, so this run sends the message again. It needs a different id,
        // because the servers would drop a second message with the same id.
        msgID = `${ownID}.${this.#entry.state.epoch}.${++otherRuns}`;
      }
    };
    const position = await this.#connection.repeat(what, sendOnce, { since });
    // The source has repeated a post, which the stream already has at a different position. A message without
    // posts takes the position of the repeated message, so that positions have no gap.
    if (position !== at.position) await this.#sendEmpty(subject, at);
    this.#acked[subject]?.add(at.position);
  }

  /**
   * Sends a message without posts until the stream has it. It takes the position `at`, which would otherwise
   * be a gap among the positions on the subject.
   */
  async #sendEmpty(subject: number, at: SubjectPosition): Promise<void> {
    const msgID = `${this.#prefix}.empty.${this.#entry.state.epoch}.${subject}.${at.position}`;
    await this.#connection.repeat(`publish to ${this.#stream.subjects[subject]}`, () =>
      this.#publish({ subject, msgID, at, headers: [], payload: NO_BYTES }),
    );
    this.#acked[subject]?.add(at.position);
  }

  /**
   * Sends a message once.
   *
   * @throws JetStreamError if the stream was deleted.
   */
  async #publish({ subject, msgID, at, headers, payload }: Attempt): Promise<PubAck> {
    const stream = this.#stream;
    const all: [name: string, value: string][] = [
      ['Nats-Msg-Id', msgID],
      ['Nats-Expected-Stream', stream.name],
      [HEADERS.publisher, this.#entry.key],
      [HEADERS.epoch, String(this.#entry.state.epoch)],
    ];
    if (at !== undefined) all.push([HEADERS.subjectPosition, shownPosition(at)]);
    const before = this.#highest;
    const ack = await this.#connection
      .publish(stream.subjects[subject] ?? '', payload, [...all, ...headers])
      .catch(error =>
        this.#connection.unstored(
          error,
          stream.name,
          `the stream ${stream.name} was deleted during the run, with all posts in it. Publish everything again under another \`name\`, with \`create\` to create the stream`,
        ),
      );
    if (ack.duplicate || ack.seq > before) this.#highest = Math.max(this.#highest, ack.seq);
    else {
      await this.#mustBeSame();
      // This sequence is not higher than before, so the servers have lost messages. Readers report the loss.
      // The next run must look for the messages of this run after the lower sequence.
      this.#highest = ack.seq;
    }
    return ack;
  }

  /**
   * Returns the position of the message at a sequence. Returns `undefined` if this run did not send that
   * message.
   */
  async #find(seq: number): Promise<number | undefined> {
    const stream = this.#stream;
    const { key } = this.#entry;
    const message = await this.#connection.repeat('find a repeated message', () =>
      this.#connection.manager.streams.getMessage(stream.name, { seq }),
    );
    if (message?.header.get(HEADERS.publisher) !== key) return undefined;
    try {
      // Ignores a message of an earlier run. It was sent after this run had started, so readers skip it. All
      // other messages of earlier runs were found when this run started.
      if (epochOf(message.header) !== this.#entry.state.epoch) return undefined;
      return subjectPositionOf(message.header)?.position;
    } catch (error) {
      const { subject } = message;
      throw errorOfOwnMessage({ stream: stream.name, subject, seq }, error, key);
    }
  }

  /** @throws JetStreamError if the stream is no longer the one with which the run started */
  async #mustBeSame(): Promise<void> {
    const stream = this.#stream;
    const { created } = await this.#connection.streamInfo(stream.name);
    if (created === stream.created) return;
    throw new JetStreamError(
      `toJetStream: the stream ${stream.name} was deleted and recreated during the run. Publish everything again under another \`name\``,
      { failure: 'stream', cursor: this.#entry.state.cursor ?? undefined },
    );
  }
}
