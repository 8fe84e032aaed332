import type { PubAck } from '@nats-io/jetstream';
import type { JetStreamConnection, RequestTries } from './connection.js';
import { epochOf } from './epochs.js';
import { errorOfMessage, publisherAdvice } from './error-of-message.js';
import { JetStreamError } from './jet-stream-error.js';
import { HEADERS, type Headers } from './message.js';
import { PositionSet } from './position-set.js';
import type { PublisherEntry } from './publisher-entry.js';
import type { OpenedStream } from './stream-settings.js';
import { type SubjectPosition, shownPosition, subjectPositionOf } from './subject-positions.js';

const PUBLISH_MS = 5_000;
const NO_BYTES = new Uint8Array();

export interface SenderOptions {
  /** The name of the publisher. */
  readonly key: string;
  readonly stream: OpenedStream;
  /** Begins all ids of messages. */
  readonly prefix: string;
}

/** A message as the stream is to have it. */
export interface Message {
  readonly subject: number;
  readonly id: string;
  readonly at: SubjectPosition;
  readonly headers: Headers;
  readonly payload: Uint8Array;
  /** When it was sent first. */
  readonly since: number;
}

/** What one try sends. */
interface Attempt {
  readonly subject: number;
  readonly msgID: string;
  /** None for the message that begins an epoch. */
  readonly at?: SubjectPosition;
  readonly headers: Headers;
  readonly payload: Uint8Array;
}

/**
 * Sends messages until the stream has them. Each has a position on its subject that stays the same over all
 * tries, so readers leave out what the stream has twice and notice what it has lost (`subject-positions.ts`).
 */
export class Sender {
  readonly #connection: JetStreamConnection;
  readonly #entry: PublisherEntry;
  readonly #options: SenderOptions;
  #highest: number;
  /** By subject: the positions that are acknowledged. */
  #acked: readonly PositionSet[];
  /** By subject: the position of the next message. */
  #next: number[];

  constructor(connection: JetStreamConnection, entry: PublisherEntry, options: SenderOptions) {
    this.#connection = connection;
    this.#entry = entry;
    this.#options = options;
    this.#highest = entry.state.seq;
    this.#acked = options.stream.subjects.map(() => new PositionSet());
    this.#next = this.#acked.map(() => 0);
  }

  /** The highest sequence that was acknowledged. */
  get highest(): number {
    return this.#highest;
  }

  /** By subject: how many positions were given out. */
  get positions(): readonly number[] {
    return [...this.#next];
  }

  /** Gives out the next position of a subject. */
  take(subject: number): SubjectPosition {
    const position = this.#next[subject] ?? 0;
    this.#next[subject] = position + 1;
    const { series } = this.#entry.state;
    return { position, acknowledged: this.#acked[subject]?.wholeUntil ?? 0, series };
  }

  /** Begins the epoch on each subject, and returns the last sequence up to which others may be of an earlier one. */
  async begin(): Promise<number> {
    const { stream, prefix } = this.#options;
    const { epoch } = this.#entry.state;
    const acks = await Promise.all(
      stream.subjects.map((name, subject) =>
        this.#connection.repeat(`publish to ${name}`, () => {
          const msgID = `${prefix}.begin.${epoch}.${subject}`;
          return this.#publish({ subject, msgID, headers: [], payload: NO_BYTES });
        }),
      ),
    );
    return Math.max(...acks.map(({ seq }) => seq));
  }

  /** Goes on behind the positions that the stream has, and fills those that were lost with an earlier run. */
  async goOn(found: readonly PositionSet[]): Promise<void> {
    this.#acked = found;
    this.#next = found.map(({ next }) => next);
    // It is unknown what was acknowledged when that run gave them out.
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

  /** Ends each subject: a message tells readers what came before it, so one must follow the last. */
  async end(): Promise<void> {
    const used = this.#next.flatMap((position, subject) => (position > 0 ? [subject] : []));
    await Promise.all(used.map(subject => this.#sendEmpty(subject, this.take(subject))));
  }

  /** Sends a message until the stream has it. */
  async send({ subject, id, at, headers, payload, since }: Message): Promise<void> {
    let tries: RequestTries | undefined;
    let msgID = id;
    try {
      for (let attempt = 1; ; attempt++) {
        try {
          const ack = await this.#publish({ subject, msgID, at, headers, payload });
          if (ack.duplicate) {
            const found = await this.#find(ack.seq);
            // It came too late for readers: sent by a run that this one has replaced.
            if (found === undefined) {
              msgID = `${id}.${this.#entry.state.epoch}.${attempt}`;
              continue;
            }
            // The source has repeated the post.
            if (found !== at.position) await this.#sendEmpty(subject, at);
          }
          this.#acked[subject]?.add(at.position);
          return;
        } catch (error) {
          const what = `publish to ${this.#options.stream.subjects[subject]}`;
          tries ??= this.#connection.tries(what, since);
          await tries.failed(error);
        }
      }
    } finally {
      tries?.end();
    }
  }

  /** Sends a message without posts. */
  async #sendEmpty(subject: number, at: SubjectPosition): Promise<void> {
    const { stream, prefix } = this.#options;
    const msgID = `${prefix}.empty.${this.#entry.state.epoch}.${subject}.${at.position}`;
    await this.#connection.repeat(`publish to ${stream.subjects[subject]}`, () =>
      this.#publish({ subject, msgID, at, headers: [], payload: NO_BYTES }),
    );
    this.#acked[subject]?.add(at.position);
  }

  async #publish({ subject, msgID, at, headers, payload }: Attempt): Promise<PubAck> {
    const { client, packages } = this.#connection;
    const { stream, key } = this.#options;
    const all = packages.core.headers();
    all.set(HEADERS.publisher, key);
    all.set(HEADERS.epoch, String(this.#entry.state.epoch));
    if (at !== undefined) all.set(HEADERS.subjectPosition, shownPosition(at));
    for (const [name, value] of headers) all.set(name, value);
    const before = this.#highest;
    const ack = await client
      .publish(stream.subjects[subject] ?? '', payload, {
        ...{ msgID, headers: all, timeout: PUBLISH_MS },
        expect: { streamName: stream.name },
      })
      .catch(error =>
        this.#connection.unstored(
          error,
          stream.name,
          `the stream ${stream.name} was deleted during the run, with all posts in it. Publish everything again under another \`name\`, with \`create\` to make the stream`,
        ),
      );
    if (ack.duplicate || ack.seq > before) this.#highest = Math.max(this.#highest, ack.seq);
    else {
      await this.#mustBeSame();
      // Its servers have lost messages. Readers name them; the next run must look for its own from here on.
      this.#highest = ack.seq;
    }
    return ack;
  }

  /** The position of a message, if it was sent by this run. */
  async #find(seq: number): Promise<number | undefined> {
    const { stream, key } = this.#options;
    const message = await this.#connection.repeat('find a repeated message', () =>
      this.#connection.manager.streams.getMessage(stream.name, { seq }),
    );
    if (message?.header.get(HEADERS.publisher) !== key) return undefined;
    try {
      // Of an earlier run, the ones that count were found when this run began.
      if (epochOf(message.header) !== this.#entry.state.epoch) return undefined;
      return subjectPositionOf(message.header)?.position;
    } catch (error) {
      throw errorOfMessage(
        { stream: stream.name, subject: message.subject, seq },
        error,
        publisherAdvice(stream.name, seq, key),
      );
    }
  }

  async #mustBeSame(): Promise<void> {
    const { stream } = this.#options;
    const { created } = await this.#connection.streamInfo(stream.name);
    if (created === stream.created) return;
    throw new JetStreamError(
      `toJetStream: the stream ${stream.name} was deleted and made again during the run. Publish everything again under another \`name\``,
      { failure: 'stream', cursor: this.#entry.state.cursor ?? undefined },
    );
  }
}
