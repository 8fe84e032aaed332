import type { JsMsg } from '@nats-io/jetstream';
import { answerOf } from '../base/abortable.js';
import { cursorError } from '../base/check.js';
import { DataError, orDataError } from '../base/errors.js';
import type { Batches, Cursor, Run } from '../flow/flow.js';
import { isCount } from '../json/type-guards.js';
import type { Activity } from '../post/activity.js';
import type { JetStreamConnection } from './connection.js';
import {
  errorOfMessage,
  incomplete,
  JetStreamError,
  type JetStreamGap,
} from './jet-stream-errors.js';
import { HEADERS, NodeLacksZstd, postOf, postsOf, subjectPositionOf } from './message.js';
import {
  Epochs,
  inBoth,
  isEpochs,
  isLostAndRepeated,
  LostAndRepeated,
  type LostPositions,
} from './positions.js';
import { type MessageGroup, type ReadOptions, readMessages, remade } from './read-messages.js';
import type { OpenedStream } from './stream-settings.js';

/**
 * How many sequences before and after the expected place of a lost message are searched. A replica may have
 * the message at a different sequence.
 */
const SEARCH_DISTANCE = 1_000;
/**
 * `readAgain` reads a part of the stream up to this many times for each replica. If the servers choose a
 * replica at random for each new consumer, 1 call in 5,600 never reads one of 3 replicas, and 1 call in 1,500
 * never reads one of 5 replicas.
 */
const TRIES_PER_REPLICA = 8;

export interface ReadSettings<T> {
  readonly until: 'never' | 'caught up' | number;
  readonly onGap: ((gap: JetStreamGap) => unknown) | undefined;
  /** Creates an item from the bytes of a post. If `undefined`, the items are posts. */
  readonly item: ((bytes: Buffer) => T) | undefined;
}

interface SubjectSettings<T> extends ReadSettings<T> {
  readonly connection: JetStreamConnection;
  readonly stream: OpenedStream;
  /** The subject, or a wildcard for all subjects. */
  readonly subject: string;
}

/** Reads the posts on a subject, starting at a cursor. Delivers each post once, and reports missing posts. */
export class SubjectReader<T> {
  readonly #settings: SubjectSettings<T>;
  readonly #run: Run;
  readonly #epochs: Epochs;
  readonly #positions: LostAndRepeated;
  /** The last sequence to read. `undefined` if the reader never ends. */
  readonly #end: number | undefined;
  /** The sequence of the stream after which reading continues. The cursor contains it. */
  #last: number;

  constructor(settings: SubjectSettings<T>, run: Run) {
    this.#settings = settings;
    this.#run = run;
    const { until, stream, subject } = settings;
    this.#end = until === 'never' ? undefined : until === 'caught up' ? stream.lastSequence : until;
    const { after, epochs, positions } = startOf(run.resume, stream, subject);
    this.#last = after;
    this.#epochs = epochs;
    this.#positions = positions;
  }

  get #cursor(): Cursor {
    const { stream, subject } = this.#settings;
    return {
      source: 'jetstream',
      stream: stream.name,
      created: stream.created,
      subject,
      seq: this.#last,
      epochs: this.#epochs.toJSON(),
      positions: this.#positions.toJSON(),
    };
  }

  async *batches(): Batches<T | Activity> {
    try {
      yield* this.#batches();
    } catch (error) {
      // Adds the cursor after the delivered posts to an error of the servers.
      if (!(error instanceof JetStreamError) || error.cursor !== undefined) throw error;
      const { message, failure, retryable, cause } = error;
      throw new JetStreamError(message, { failure, retryable, cause, cursor: this.#cursor });
    }
  }

  async *#batches(): Batches<T | Activity> {
    const end = this.#end;
    // Reports the lost messages that the previous run could not report before it ended.
    yield* this.#lostMessages();
    if (end !== undefined && this.#last >= end) return;
    for await (const group of this.#read({ after: this.#last, until: end })) {
      yield* this.#groupOf(group);
      yield* this.#lostMessages();
    }
    if (end === undefined) return;
    const lost = await this.#lostBefore(end);
    this.#positions.dismiss(lost);
    await this.#report(lost);
  }

  #read(part: Omit<ReadOptions, 'stream' | 'subject'>): AsyncIterable<MessageGroup> {
    const { connection, stream, subject } = this.#settings;
    return readMessages(connection, { stream, subject, ...part });
  }

  async *#groupOf({ messages, position, lost, behind }: MessageGroup): Batches<T | Activity> {
    const origin = this.#settings.stream.name;
    const items: (T | Activity)[] = [];
    for (const message of messages) {
      try {
        await this.#take(message, items, this.#epochs);
      } catch (error) {
        // Delivers the posts that come before the failed message. Their batch has no cursor, because a cursor
        // would mark the failed message as read.
        if (items.length > 0) yield { items, origin };
        throw error;
      }
    }
    const { progress } = this.#run;
    if (progress !== undefined && this.#end !== undefined)
      progress.fraction = Math.min(1, position / this.#end);
    if (!Number.isNaN(behind)) progress?.behind.set(this, behind);
    this.#last = position;
    if (lost !== undefined) {
      this.#positions.skip();
      await this.#report([{ subject: this.#settings.subject, ...lost }]);
    }
    yield { items, cursor: this.#cursor, origin };
  }

  /**
   * Adds the items of a message to `items`. Skips a message that is a repeat, or that a process sent after
   * another process had replaced it. If one item fails, adds none of them.
   *
   * @param epochs Tells which messages were sent too late. `undefined` for a message that was lost and then
   *   found.
   */
  async #take(message: JsMsg, items: (T | Activity)[], epochs?: Epochs): Promise<void> {
    const { data, headers, subject, seq } = message;
    const stream = this.#settings.stream.name;
    const { progress } = this.#run;
    const { item } = this.#settings;
    let advice = `Delete the message (\`nats stream rmm ${stream} ${seq}\`) and run the same again with \`onGap\`: it continues behind it`;
    try {
      if (epochs?.admits(subject, headers) === false) return;
      if (progress !== undefined) progress.receivedBytes += data.length;
      if (!this.#positions.admits(subject, headers)) return;
      const payloads = await postsOf(data, headers);
      const isOurs = (headers?.get(HEADERS.publisher) ?? '') !== '';
      // If `item` throws, the mistake may be in that function, and the message may be intact. The error
      // therefore does not advise to delete the message.
      if (item !== undefined) advice = '';
      const made = payloads.map(bytes =>
        item === undefined ? postOf(bytes, isOurs) : item(bytes),
      );
      // Pushes the items one by one, because the number of arguments of a call is limited.
      for (const one of made) items.push(one);
      if (progress !== undefined) progress.received += made.length;
    } catch (error) {
      if (error instanceof NodeLacksZstd) advice = 'Run the same with a newer Node';
      throw errorOfMessage({ stream, subject, seq }, error, advice);
    }
  }

  /** Looks for lost messages on all replicas. Delivers those that it finds, and reports the rest as gaps. */
  async *#lostMessages(): Batches<T | Activity> {
    const { name, replicas } = this.#settings.stream;
    const { lost } = this.#positions;
    if (replicas > 1 && lost.length > 0) {
      const items: (T | Activity)[] = [];
      const found = await readAgain(lost, replicas, () => this.#around(this.#last));
      for (const message of found) await this.#take(message, items);
      yield { items, cursor: this.#cursor, origin: name };
    }
    await this.#report(this.#positions.takeLost());
  }

  async *#around(sequence: number): AsyncGenerator<MessageGroup> {
    const { state } = await this.#settings.connection.streamInfo(this.#settings.stream.name);
    yield* this.#read({
      after: Math.max(0, sequence - SEARCH_DISTANCE),
      until: Math.min(sequence + SEARCH_DISTANCE, state.last_seq),
    });
  }

  /**
   * Returns the positions of lost messages before the sequence `end`. A missing message is lost if a later
   * message shows that the servers had acknowledged it. To find this out, reads the headers of the messages
   * after `end`.
   */
  async #lostBefore(end: number): Promise<readonly LostPositions[]> {
    const { open } = this.#positions;
    if (open.length === 0) return [];
    const epochs = new Epochs(this.#epochs.toJSON());
    const positions = new LostAndRepeated(this.#positions.toJSON());
    const { state } = await this.#settings.connection.streamInfo(this.#settings.stream.name);
    const groups = this.#read({ after: end, until: state.last_seq, headersOnly: true });
    for await (const { messages, lost } of groups) {
      // The stream has dropped messages, and the missing messages may be among them. Their positions are
      // therefore no longer expected.
      if (lost !== undefined) positions.skip();
      // An error about damaged headers is ignored here. It is thrown when the message itself is read.
      for (const { subject, headers } of messages)
        orDataError(() => epochs.admits(subject, headers) && positions.admits(subject, headers));
      if (inBoth(open, positions.open).length === 0) break;
    }
    return inBoth(open, positions.takeLost());
  }

  async #report(gaps: readonly JetStreamGap[]): Promise<void> {
    const { onGap } = this.#settings;
    if (gaps.length > 0 && onGap === undefined)
      throw incomplete(this.#settings.stream.name, gaps, this.#cursor);
    for (const gap of gaps) await answerOf(onGap?.(gap), this.#run.signal);
  }
}

/**
 * Returns the state with which reading starts at a cursor. A reader without a cursor starts at sequence 1, so
 * that messages that the stream has already dropped are reported.
 */
function startOf(resume: Cursor | undefined, stream: OpenedStream, subject: string) {
  if (resume === undefined)
    return { after: 0, epochs: new Epochs(), positions: new LostAndRepeated({ isWhole: true }) };
  const { source, created, seq, epochs, positions } = resume;
  if (source !== 'jetstream' || resume.stream !== stream.name || resume.subject !== subject)
    throw cursorError(
      `is not one of fromJetStream() for the stream ${stream.name} and the subject ${subject}`,
    );
  if (created !== stream.created) throw remade(stream.name, String(created), stream.created);
  if (!isCount(seq) || !isEpochs(epochs) || !isLostAndRepeated(positions))
    throw cursorError('is damaged');
  return {
    after: seq,
    epochs: new Epochs(epochs),
    positions: new LostAndRepeated(positions),
  };
}

/**
 * Looks again for the messages in `lost`. After a failure, the replicas of a stream may differ from each
 * other, and may have the same messages at different sequences. Therefore, the part of the stream that should
 * have the messages is read several times, each time by a new consumer.
 *
 * @param replicas The number of replicas of the stream.
 * @param read Reads the part of the stream that should have the messages.
 */
export async function readAgain(
  lost: readonly LostPositions[],
  replicas: number,
  read: () => AsyncIterable<Pick<MessageGroup, 'messages'>>,
): Promise<readonly JsMsg[]> {
  const found = new Map<string, JsMsg>();
  const count = lost.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  for (let tries = 0; tries < TRIES_PER_REPLICA * replicas && found.size < count; tries++) {
    for await (const { messages } of read()) {
      for (const message of messages) {
        const { subject, headers } = message;
        const at = orDataError(() => subjectPositionOf(headers));
        if (at === undefined || at instanceof DataError) continue;
        const publisher = headers?.get(HEADERS.publisher) ?? '';
        const key = `${publisher} ${subject} ${at.position}`;
        const one = { publisher, subject, from: at.position, to: at.position };
        if (inBoth(lost, [one]).length > 0 && !found.has(key)) found.set(key, message);
      }
      if (found.size === count) break;
    }
  }
  return [...found.values()];
}
