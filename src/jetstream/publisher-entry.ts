import { randomUUID } from 'node:crypto';
import { threadId } from 'node:worker_threads';
import type { KV, KvEntry } from '@nats-io/kv';
import type { Cursor, FlowIdentity, FlowStep } from '../flow/flow.js';
import { flowDifference } from '../flow/flow-difference.js';
import { realTime } from '../http/timing.js';
import { isCount, isText, listOf, optional, shaped } from '../json/json.js';
import { type ProcessIdentity, processState, thisProcess } from '../storage/process-identity.js';
import type { JetStreamConnection } from './connection.js';
import { codeOf, JetStreamError, StaleAnswer } from './jet-stream-errors.js';
import type { OpenedStream } from './stream-settings.js';

const VERSION = 2;
/** The ids of the runs of this thread that publish. */
const running = new Set<string>();
/** How often the entry of another process is read while it is silent. */
const POLL_MS = 200;
/** What the name of an entry ends with where the flow is a share of a source. */
const SHARE_OF = /^-\d+-of-(\d+)$/;
/** The code of an error of the servers: the entry has another revision than expected, because another process has written it. */
const WRONG_REVISION = 10071;

/** What a publisher has published, runs before this one included. */
export interface PublishedCounts {
  readonly posts: number;
  readonly messages: number;
  readonly bytes: number;
}

/** What the servers keep of a publisher. */
export interface PublisherState {
  readonly version: typeof VERSION;
  /** `complete`: the flow has ended, and all of it is in the stream. */
  readonly state: 'running' | 'complete';
  readonly stream: string;
  /** When the stream was made. */
  readonly created: string;
  readonly flow: FlowIdentity;
  /** Grows with each start, see `epochs.ts`. */
  readonly epoch: number;
  /** The epoch that had begun on all subjects when `seq` was committed. */
  readonly begun: number;
  /** The sequence of the stream behind which all posts are that `cursor` does not cover. */
  readonly seq: number;
  /** The epoch in which the positions on each subject began, see `lost-and-repeated.ts`. */
  readonly series: number;
  /** By the number of the subject: the stream has all positions below this one, and those from it on are behind `seq`. */
  readonly positions: readonly number[];
  /** `null` at the beginning. */
  readonly cursor: Cursor | null;
  readonly counts: PublishedCounts;
  /** The process, thread and run that publish. */
  readonly process: ProcessIdentity & { readonly run: string; readonly thread: number };
  /** How many times this run has written the entry. */
  readonly write: number;
}

/** The bucket with the entries of publishers. */
export interface EntryBucket {
  readonly connection: JetStreamConnection;
  readonly kv: KV;
  readonly name: string;
}

export interface TakeOverOptions {
  /** The name of the entry. */
  readonly key: string;
  /** The name without the share: `posts` where the entry is `posts-2-of-8`. */
  readonly name: string;
  readonly stream: OpenedStream;
  readonly flow: FlowIdentity;
  /** How long another process must have been silent. */
  readonly takeoverMs: number;
}

/** The entry of one publisher in the bucket. Each write names the revision before it, so only one process can write it. */
export class PublisherEntry {
  readonly #bucket: EntryBucket;
  readonly #key: string;
  #state: PublisherState;
  #revision: number;
  #writing: Promise<void> = Promise.resolve();

  /**
   * Makes this process the one that publishes under a name.
   *
   * @throws JetStreamError where another process is publishing, or the entry is of another flow or stream.
   */
  static async takeOver(bucket: EntryBucket, options: TakeOverOptions): Promise<PublisherEntry> {
    const { key, stream, flow } = options;
    const me = { ...thisProcess(), run: randomUUID(), thread: threadId };
    let waited: number | undefined;
    while (true) {
      const found = await read(bucket, key);
      const before = found && parsed(key, found);
      if (found !== undefined && before !== undefined) {
        mustBelong(key, before, options);
        if (before.state === 'complete')
          return new PublisherEntry(bucket, key, before, found.revision);
        if (waited !== undefined && found.revision > waited) throw inUse(key, before);
        if (waited === undefined && !hasEnded(before)) {
          waited = found.revision;
          await silence(bucket, key, found.revision, options.takeoverMs);
          continue;
        }
      }
      if (before === undefined) await mustNotDivideAgain(bucket, options);
      // From the clock: once an entry was deleted, messages still have its epochs, and a new one must be higher.
      const epoch = Math.max((before?.epoch ?? 0) + 1, Date.now());
      const state: PublisherState = before
        ? { ...before, epoch, process: me, write: 0 }
        : {
            version: VERSION,
            state: 'running',
            stream: stream.name,
            created: stream.created,
            flow,
            epoch,
            begun: epoch,
            // A new publisher has published nothing: the next run looks for messages of this one from here on.
            seq: stream.lastSequence,
            series: epoch,
            positions: [],
            cursor: null,
            counts: { posts: 0, messages: 0, bytes: 0 },
            process: me,
            write: 0,
          };
      const revision = await write(bucket, key, state, found?.revision ?? 0);
      if (revision !== undefined) {
        running.add(me.run);
        return new PublisherEntry(bucket, key, state, revision);
      }
      // Another process has written meanwhile, or the servers answered with an earlier state: everything is read again.
    }
  }

  private constructor(bucket: EntryBucket, key: string, state: PublisherState, revision: number) {
    this.#bucket = bucket;
    this.#key = key;
    this.#state = state;
    this.#revision = revision;
  }

  /** Its name in the bucket. */
  get key(): string {
    return this.#key;
  }

  get state(): PublisherState {
    return this.#state;
  }

  /** Whether this is the first run of the publisher. */
  get isNew(): boolean {
    const { epoch, begun } = this.#state;
    return epoch === begun;
  }

  /** Another run of this thread may take over from now on. */
  close(): void {
    running.delete(this.#state.process.run);
  }

  /**
   * Writes changes, or none as a sign of life.
   *
   * @throws JetStreamError where another process has taken over.
   */
  write(changes: Partial<PublisherState> = {}): Promise<void> {
    // One write at a time, because each names the revision before it.
    const written = this.#writing.then(() => this.#write(changes));
    this.#writing = written.catch(() => {});
    return written;
  }

  async #write(changes: Partial<PublisherState>): Promise<void> {
    const state = { ...this.#state, ...changes, write: this.#state.write + 1 };
    const revision = await write(this.#bucket, this.#key, state, this.#revision);
    if (revision === undefined)
      throw new JetStreamError(
        `toJetStream: another process has taken over the publisher ${this.#key}, so this one has stopped. Nothing is lost or doubled; run one process under each \`name\``,
        { failure: 'taken-over', cursor: this.#state.cursor ?? undefined },
      );
    this.#state = state;
    this.#revision = revision;
  }
}

/** The entry; `undefined` where there is none, or it was deleted. */
async function read({ connection, kv }: EntryBucket, key: string): Promise<KvEntry | undefined> {
  const entry = await connection.repeat(`read the publisher ${key}`, () => kv.get(key));
  return entry?.operation === 'PUT' ? entry : undefined;
}

/** Writes the entry and returns its new revision; `undefined` where another process has written it meanwhile. */
async function write(
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
          `the bucket ${name} was deleted during the run, with the cursor of this publisher. To publish everything again, and no post twice, make the stream again, too, or use another one`,
        );
    }
    const now = await read(bucket, key);
    if (now === undefined) return undefined;
    const found = parsed(key, now);
    const isMine = found.process.run === state.process.run;
    // An earlier try has succeeded, and its answer was lost.
    if (isMine && found.write === state.write && found.epoch === state.epoch) return now.revision;
    const isNewer = now.revision > before || found.epoch >= state.epoch;
    if (!isMine && isNewer) return undefined;
    // If the servers have lost all writes after this revision, the next try must name it.
    expected = now.revision;
    throw new StaleAnswer(`the servers have an earlier state of the entry ${key}`);
  });
}

/** Waits until the other process has written, or has been silent for so long that it no longer runs. */
async function silence(
  bucket: EntryBucket,
  key: string,
  revision: number,
  takeoverMs: number,
): Promise<void> {
  const started = performance.now();
  while (performance.now() - started < takeoverMs) {
    await realTime.sleep(POLL_MS, bucket.connection.signal);
    const now = await read(bucket, key);
    // An earlier revision comes from a server that no longer leads.
    if (now === undefined || now.revision > revision) return;
  }
}

/**
 * Whether the run has certainly ended. A run of another machine or container may go on, and so may one whose entry does
 * not say on which machine it runs.
 */
function hasEnded({ process: { run, thread, ...by } }: PublisherState): boolean {
  const state = processState(by);
  const isHere = state === 'alive' && by.pid === process.pid;
  return isHere ? thread === threadId && !running.has(run) : state === 'dead';
}

/** @throws JetStreamError where the entry is damaged. */
function parsed(key: string, entry: KvEntry): PublisherState {
  let state: unknown;
  try {
    state = entry.json();
  } catch {
    // The error below reports it.
  }
  if (isWhole(state)) return state;
  throw new JetStreamError(
    `toJetStream: the entry of the publisher ${key} in the bucket ${entry.bucket} is damaged or of another version. Delete it with \`nats kv del ${entry.bucket} ${key}\` to publish everything again`,
    { failure: 'publisher' },
  );
}

const isWhole = shaped<PublisherState>({
  version: version => version === VERSION,
  state: isText,
  stream: isText,
  created: isText,
  flow: Array.isArray,
  epoch: isCount,
  begun: isCount,
  seq: isCount,
  series: isCount,
  positions: listOf(isCount),
  // The source checks it.
  cursor: () => true,
  counts: shaped<PublishedCounts>({ posts: isCount, messages: isCount, bytes: isCount }),
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

/** @throws JetStreamError where the entry belongs to another flow or stream. */
function mustBelong(key: string, before: PublisherState, { stream, flow }: TakeOverOptions): void {
  const again = 'or delete the entry of the publisher to publish everything again';
  const difference = flowDifference(before.flow, flow);
  if (difference !== undefined)
    throw new JetStreamError(
      `toJetStream: the publisher ${key} belongs to another flow: ${difference}. Run the same pipeline as before, pass another \`name\` for this one, ${again}`,
      { failure: 'publisher' },
    );
  if (before.stream !== stream.name)
    throw new JetStreamError(
      `toJetStream: the publisher ${key} belongs to the stream ${before.stream}. Pass another \`name\` for ${stream.name}, ${again}`,
      { failure: 'publisher' },
    );
  if (before.created !== stream.created)
    throw new JetStreamError(
      `toJetStream: the stream ${stream.name} was deleted and made again since the publisher ${key} published to it. Pass another \`name\`, ${again}`,
      { failure: 'stream' },
    );
}

/**
 * Refuses a run with another number of shares than before: its entries have other names, so nothing else would stop it
 * from publishing all posts again.
 *
 * @throws JetStreamError where an entry of the same name has the same flow, divided in another way.
 */
async function mustNotDivideAgain(
  bucket: EntryBucket,
  { key, name, flow }: TakeOverOptions,
): Promise<void> {
  const [, of] = SHARE_OF.exec(key.slice(name.length)) ?? [];
  const { state } = await bucket.connection.streamInfo(`KV_${bucket.name}`, {
    subjects: `$KV.${bucket.name}.*`,
  });
  const keys = Object.keys(state.subjects ?? {}).map(subject => subject.split('.').at(-1) ?? '');
  for (const other of keys) {
    const [suffix, otherOf] = SHARE_OF.exec(other.slice(name.length)) ?? [];
    if (other !== name && other !== `${name}${suffix}`) continue;
    if (otherOf === of) continue;
    const entry = await read(bucket, other);
    if (entry === undefined) continue;
    const before = parsed(other, entry).flow;
    if (flowDifference(withoutShares(before), withoutShares(flow)) !== undefined) continue;
    const [was, is] = [shareOfFlow(before), shareOfFlow(flow)];
    throw new JetStreamError(
      `toJetStream: the publisher ${other} has published ${was === undefined ? 'all' : `share ${was}`} of this flow, and this run is ${is === undefined ? 'no share' : `share ${is}`}: it would publish posts again. Run the same shares as before, pass another \`name\` and another stream, or delete all entries of the publisher ${name} to publish everything again`,
      { failure: 'publisher' },
    );
  }
}

/** The share of the source of a flow, such as `2/8`; `undefined` where the flow has the whole source. */
export function shareOfFlow(flow: FlowIdentity): string | undefined {
  const share = flow.map(step => step.share).find(value => typeof value === 'string');
  return share as string | undefined;
}

function withoutShares(flow: FlowIdentity): FlowIdentity {
  return flow.map(({ share: _, ...step }) => step as FlowStep);
}

function inUse(key: string, { process: { host, pid } }: PublisherState): JetStreamError {
  return new JetStreamError(
    `toJetStream: process ${pid} on ${host} is publishing under the name ${key}. Wait until it ends, or pass another \`name\``,
    { failure: 'in-use' },
  );
}
