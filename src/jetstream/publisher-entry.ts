import type { KV, KvEntry } from '@nats-io/kv';
import { publish } from '../base/diagnostics.js';
import type { ProcessIdentity } from '../base/process-identity.js';
import type { Cursor, FlowIdentity } from '../flow/flow.js';
import { isCount, isText, listOf, optional, parsedAs, shaped } from '../json/type-guards.js';
import type { JetStreamConnection } from './connection.js';
import { codeOf, JetStreamError, StaleAnswer } from './jet-stream-errors.js';

export const ENTRY_VERSION = 2;
/** The ids of the runs in this thread that are publishing. */
export const publishing = new Set<string>();
/**
 * The servers send this error code if an entry does not have the expected revision, because another
 * process has written it.
 */
const WRONG_REVISION = 10071;

/** The result of `toJetStream`. Its counts include earlier runs that this run has resumed. */
export interface PublishedToJetStream {
  /** The number of items in the stream. */
  readonly posts: number;
  /** The number of messages. Each message has one item or a batch of items. */
  readonly messages: number;
  /** The size of all payloads as sent, in bytes. */
  readonly bytes: number;
}

/** The state of a publisher, which the servers store. */
export interface PublisherState {
  readonly version: typeof ENTRY_VERSION;
  /** `complete` means that the flow has ended and all of its items are in the stream. */
  readonly state: 'running' | 'complete';
  readonly stream: string;
  /** When the stream was created. */
  readonly created: string;
  readonly flow: FlowIdentity;
  /**
   * A number for the latest start of the publisher. Each start has a higher number than all earlier starts.
   */
  readonly epoch: number;
  /**
   * The epoch of the run that committed `seq`. The next run ignores messages after `seq` that have a lower
   * epoch, because a replaced process sent them.
   */
  readonly begun: number;
  /**
   * A sequence number of the stream. Posts that come after `cursor` in the flow are stored in messages with
   * higher sequence numbers.
   */
  readonly seq: number;
  /**
   * The epoch in which the publisher began to count positions from 0. Each message states this epoch as its
   * `series`.
   */
  readonly series: number;
  /**
   * The next position to assign on each subject, by the index of the subject. The stream has the messages at
   * all lower positions. Messages at this and higher positions come after `seq` in the stream.
   */
  readonly positions: readonly number[];
  /** The cursor of the flow. `null` before the first commit. */
  readonly cursor: Cursor | null;
  readonly counts: PublishedToJetStream;
  /** The process, thread and run that publishes under this name. */
  readonly process: ProcessIdentity & { readonly run: string; readonly thread: number };
  /** How many times this run has written the entry. */
  readonly write: number;
}

export interface EntryBucket {
  readonly connection: JetStreamConnection;
  readonly kv: KV;
  readonly name: string;
}

/**
 * The entry of one publisher in the bucket. Each write states the previous revision, so that only one process
 * can write the entry.
 */
export class PublisherEntry {
  readonly key: string;
  readonly #bucket: EntryBucket;
  #state: PublisherState;
  #revision: number;
  #writing: Promise<void> = Promise.resolve();

  constructor(bucket: EntryBucket, key: string, state: PublisherState, revision: number) {
    this.#bucket = bucket;
    this.key = key;
    this.#state = state;
    this.#revision = revision;
  }

  get state(): PublisherState {
    return this.#state;
  }

  /** Whether this is the first run of the publisher. */
  get isNew(): boolean {
    const { epoch, begun } = this.#state;
    return epoch === begun;
  }

  /** Marks the run as ended, so that another run in this thread may take over the entry. */
  close(): void {
    publishing.delete(this.#state.process.run);
  }

  /**
   * Writes changes to the entry. Without changes, writes the same state again, as a heartbeat.
   *
   * @throws JetStreamError if another process has taken over the entry.
   */
  write(changes: Partial<PublisherState> = {}): Promise<void> {
    // Writes run one at a time, because each write states the previous revision.
    const written = this.#writing.then(() => this.#write(changes));
    this.#writing = written.catch(() => {});
    return written;
  }

  async #write(changes: Partial<PublisherState>): Promise<void> {
    const state = { ...this.#state, ...changes, write: this.#state.write + 1 };
    const revision = await writeEntry(this.#bucket, this.key, state, this.#revision);
    if (revision === undefined)
      throw new JetStreamError(
        `toJetStream: another process has taken over the publisher ${this.key}, so this one has stopped. Nothing is lost or doubled; run one process under each \`name\``,
        { failure: 'taken-over', cursor: this.#state.cursor ?? undefined },
      );
    this.#state = state;
    this.#revision = revision;
  }
}

/** Reads the entry. Returns `undefined` if the entry was never written or was deleted. */
export async function readEntry(
  { connection, kv }: EntryBucket,
  key: string,
): Promise<KvEntry | undefined> {
  const entry = await connection.repeat(`read the publisher ${key}`, () => kv.get(key));
  return entry?.operation === 'PUT' ? entry : undefined;
}

/**
 * Writes the entry and returns its new revision. Returns `undefined` if another process has written the entry
 * since the revision `before`.
 */
export async function writeEntry(
  bucket: EntryBucket,
  key: string,
  state: PublisherState,
  before: number,
): Promise<number | undefined> {
  const { connection, kv, name } = bucket;
  const text = JSON.stringify(state);
  if (Buffer.byteLength(text) > connection.maxPayload - 1024)
    throw new JetStreamError(
      `toJetStream: the cursor has ${Buffer.byteLength(text)} bytes, and the servers accept ${connection.maxPayload} (max_payload). Operators whose state is large, such as \`dedupe\`, belong behind \`fromJetStream\``,
      { failure: 'publisher' },
    );
  let expected = before;
  return connection.repeat(`write the publisher ${key}`, async () => {
    try {
      return await (expected === 0 ? kv.create(key, text) : kv.update(key, text, expected));
    } catch (error) {
      if (codeOf(error) !== WRONG_REVISION)
        await connection.unstored(
          error,
          `KV_${name}`,
          `the bucket ${name} was deleted during the run, with the cursor of this publisher. To publish everything again without posts that come twice, recreate the stream as well, or use another one`,
        );
    }
    const now = await readEntry(bucket, key);
    if (now === undefined) return undefined;
    const found = entryState(key, now);
    const isMine = found.process.run === state.process.run;
    // An earlier try has succeeded, but the answer to it was lost.
    if (isMine && found.write === state.write && found.epoch === state.epoch) return now.revision;
    const isNewer = now.revision > before || found.epoch >= state.epoch;
    if (!isMine && isNewer) return undefined;
    // The servers may have lost later writes of the entry. The next try must update the revision that they
    // have now.
    expected = now.revision;
    throw new StaleAnswer(`the servers have an earlier state of the entry ${key}`);
  });
}

/** @throws JetStreamError if the entry is damaged. */
export function entryState(key: string, entry: KvEntry): PublisherState {
  const state = parsedAs(entry.string(), isWhole);
  if (state !== undefined) return state;
  throw new JetStreamError(
    `toJetStream: the entry of the publisher ${key} in the bucket ${entry.bucket} is damaged or of another version. Delete it with \`nats kv del ${entry.bucket} ${key}\` to publish everything again`,
    { failure: 'publisher' },
  );
}

const isWhole = shaped<PublisherState>({
  version: version => version === ENTRY_VERSION,
  state: isText,
  stream: isText,
  created: isText,
  flow: Array.isArray,
  epoch: isCount,
  begun: isCount,
  seq: isCount,
  series: isCount,
  positions: listOf(isCount),
  // Only the source can check the cursor.
  cursor: () => true,
  counts: shaped<PublishedToJetStream>({ posts: isCount, messages: isCount, bytes: isCount }),
  process: shaped<PublisherState['process']>({
    pid: isCount,
    thread: isCount,
    run: isText,
    host: isText,
    machine: optional(isText),
    started: optional(isText),
  }),
  write: isCount,
});

/** How often a publisher that commits nothing writes its entry as a heartbeat, in milliseconds. */
const HEARTBEAT_MS = 1_000;

export interface EntryWriterOptions {
  readonly commitIntervalMs: number;
  /**
   * Called for a commit. Resolves once the servers have acknowledged all items before the cursor. The result
   * is the changes to write together with the cursor.
   */
  readonly acknowledged: () => Promise<Partial<PublisherState>>;
  readonly onFailure: (error: unknown) => void;
}

/**
 * Writes the entry of a publisher during the run: at each commit of a cursor, and between commits as a
 * heartbeat.
 */
export class EntryWriter {
  readonly #entry: PublisherEntry;
  readonly #options: EntryWriterOptions;
  /**
   * The cursor after the last item so far, if it is not committed yet. `undefined` if the flow gave no cursor
   * after the last item.
   */
  #cursor: Cursor | undefined;
  #committing: Promise<void> | undefined;
  #isWritingHeartbeat = false;
  #lastCommit = performance.now();
  #lastWrite = performance.now();
  #timer: NodeJS.Timeout | undefined;

  constructor(entry: PublisherEntry, options: EntryWriterOptions) {
    this.#entry = entry;
    this.#options = options;
  }

  start(): void {
    const everyMs = Math.max(10, Math.min(this.#options.commitIntervalMs, HEARTBEAT_MS));
    this.#timer = setInterval(() => this.#tick(), everyMs);
  }

  /** Sets the cursor from which the flow can resume. The cursor is committed when the next commit is due. */
  reached(cursor: Cursor): void {
    this.#cursor = cursor;
    if (this.#isDue) this.#commit(cursor);
  }

  /**
   * Call this when the flow has delivered items after the cursor that `reached` has set. That cursor is then
   * not committed.
   */
  passed(): void {
    this.#cursor = undefined;
  }

  /** Commits the cursor even if no commit is due. Waits until it is committed. */
  async commitLast(): Promise<void> {
    await this.#committing;
    if (this.#cursor !== undefined) this.#commit(this.#cursor);
    await this.#committing;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async end(): Promise<void> {
    this.stop();
    await this.#committing;
  }

  #tick(): void {
    if (this.#isDue && this.#cursor !== undefined) this.#commit(this.#cursor);
    // A heartbeat does not wait for a running commit. If the stream is full, a commit may wait for
    // acknowledgements for minutes.
    else if (!this.#isWritingHeartbeat && performance.now() - this.#lastWrite >= HEARTBEAT_MS)
      void this.#writeHeartbeat();
  }

  async #writeHeartbeat(): Promise<void> {
    this.#isWritingHeartbeat = true;
    await this.#write().catch(this.#options.onFailure);
    this.#isWritingHeartbeat = false;
  }

  get #isDue(): boolean {
    const since = performance.now() - this.#lastCommit;
    return this.#committing === undefined && since >= this.#options.commitIntervalMs;
  }

  /**
   * Commits the cursor once the servers have acknowledged all items before it. The publisher continues to
   * send during this time.
   */
  #commit(cursor: Cursor): void {
    this.#cursor = undefined;
    const started = performance.now();
    this.#lastCommit = started;
    const commit = async () => {
      const state = await this.#options.acknowledged();
      await this.#write({ ...state, cursor: JSON.parse(JSON.stringify(cursor)) as Cursor });
      const durationMs = performance.now() - started;
      publish('commit', () => ({ checkpoint: this.#entry.key, durationMs }));
    };
    this.#committing = commit()
      .catch(this.#options.onFailure)
      .finally(() => {
        this.#committing = undefined;
      });
  }

  #write(changes?: Partial<PublisherState>): Promise<void> {
    this.#lastWrite = performance.now();
    return this.#entry.write(changes);
  }
}
