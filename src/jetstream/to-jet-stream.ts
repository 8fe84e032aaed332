import { answerOf, LinkedAbort, onceAborted } from '../base/abortable.js';
import {
  checkOptions,
  explained,
  func,
  milliseconds,
  type OptionTable,
  record,
  required,
  whole,
} from '../base/check.js';
import { isBudgetSpent, OptionError } from '../base/errors.js';
import {
  type Batches,
  batchesOf,
  type FlowIdentity,
  identityOf,
  type Sink,
  type SinkRun,
} from '../flow/flow.js';
import { isIncremental } from '../flow/flow-identity.js';
import { withInternals } from '../flow/internals.js';
import type { OnDamaged } from '../json/records.js';
import { detached } from '../post/detach-from-block.js';
import { JetStreamConnection } from './connection.js';
import {
  type Access,
  CONNECTION_OPTIONS,
  checkAccess,
  type JetStreamConnectionOptions,
} from './connection-options.js';
import {
  checkBatch,
  DamagedItem,
  type JetStreamBatchOptions,
  type Outgoing,
  outgoingOf,
} from './packer.js';
import { Publisher, type PublisherOptions } from './publisher.js';
import type { PublishedToJetStream } from './publisher-entry.js';
import { shardOfFlow } from './publisher-fence.js';
import {
  type CreateStreamOptions,
  checkCreate,
  checkTopics,
  nameProblem,
  openStream,
  type PublishedStream,
  prefixProblem,
  topicsProblem,
} from './stream-settings.js';

/** Options of `toJetStream`: the stream, the name of the publisher, and how items are converted to messages. */
export interface ToJetStreamOptions<T> extends JetStreamConnectionOptions {
  /** The name of the stream. */
  readonly stream: string;
  /**
   * The prefix of the stream's subjects. With the prefix `posts`, each post is sent to `posts.0`, `posts.1`
   * and so on, depending on a hash of its id.
   */
  readonly subject: string;
  /**
   * Topics with separate subjects, such as languages. With `['en', 'es']`, English posts are sent
   * to `posts.en.0`, `posts.en.1` and so on. Spanish posts are sent to `posts.es.0` and so on, and
   * posts of any other topic to `posts.other.0` and so on. Each topic has `create.shards` subjects.
   * A reader reads one topic with `subject: 'posts.en'`, and all topics with `subjects: 'posts.>'`.
   * @default none
   */
  readonly topics?: readonly string[] | undefined;
  /**
   * Returns the topic of an item, such as `post => post.lang` or `post => post.tags[0]`. Required with
   * `topics`. If an item is delivered again, the function must return the same topic.
   */
  readonly topic?: ((item: T) => string | undefined) | undefined;
  /**
   * The name under which the servers store the cursor. The same script, on any machine, continues from that
   * cursor. Only one process at a time can publish under a name. If the source is a shard, the name gets a
   * suffix such as `-2-of-8`.
   * @default the name of the stream
   */
  readonly name?: string | undefined;
  /**
   * The key-value bucket that holds the cursors of publishers. It is created if it does not exist. @default
   * 'millrace'
   */
  readonly bucket?: string | undefined;
  /**
   * The settings with which the stream is created if it does not exist. A stream that exists must have the
   * same settings.
   */
  readonly create?: CreateStreamOptions | undefined;
  /**
   * The maximum number of unacknowledged messages, up to 10,000. In addition, their total size is limited to
   * 16 MiB.
   * @default 256
   */
  readonly maxInFlight?: number | undefined;
  /** The minimum time between two commits of the cursor, in milliseconds. @default 1000 */
  readonly commitIntervalMs?: number | undefined;
  /**
   * How long another process that publishes under this name must have been silent before this process takes
   * over, in milliseconds. At least 2,000. If the other process was on this machine and has ended, this
   * process takes over immediately.
   * @default 5000
   */
  readonly takeoverMs?: number | undefined;
  /** How several posts are sent in one message. @default one post per message */
  readonly batch?: JetStreamBatchOptions | undefined;
  /**
   * Returns the id of an item. The id decides on which subject the item is sent. @default the id of an
   * activity
   */
  readonly id?: ((item: T) => string) | undefined;
  /**
   * Called with each item that cannot be published, because it is a post without an id, or larger than the
   * servers accept (`max_payload`). The function gets all bytes of the item as `raw` of its first argument.
   * If the function returns, the item is skipped. Without this option, such an item ends the run.
   */
  readonly onDamaged?: OnDamaged | undefined;
  /**
   * Returns the bytes to send for an item.
   * @default the exact bytes of an activity, the JSON of any other value
   */
  readonly payload?: ((item: T) => string | Uint8Array) | undefined;
}

const OPTIONS = {
  ...CONNECTION_OPTIONS,
  stream: required(explained<string>('the name of the stream', nameProblem)),
  subject: required(explained<string>('the prefix of its subjects', prefixProblem)),
  topics: explained<readonly string[]>('what has subjects of its own', topicsProblem),
  topic: func('the topic of an item'),
  name: explained<string>('the name that the cursor is kept under', nameProblem),
  bucket: explained<string>('the bucket of publishers', nameProblem),
  create: record<CreateStreamOptions>('the settings of a stream to make'),
  maxInFlight: whole('messages that are not acknowledged', { min: 1, max: 10_000, default: 256 }),
  commitIntervalMs: milliseconds('between two commits', { min: 0, default: 1000 }),
  takeoverMs: milliseconds('how long another process must be silent', { min: 2000, default: 5000 }),
  batch: record<JetStreamBatchOptions>('several posts in a message'),
  id: func('the id of an item'),
  onDamaged: func<OnDamaged>('called with each item that cannot be published'),
  payload: func('the bytes of an item'),
} satisfies OptionTable<ToJetStreamOptions<unknown>>;

/**
 * Publishes every post to a NATS JetStream stream. `fromJetStream` reads the stream on any number of
 * machines. Readers get each post exactly once, even after kill -9 of this process or of servers. The servers
 * store the cursor, so the same script, on any machine, continues where the last run stopped. If the last run
 * is complete, the same script does not open its source and returns the same result.
 *
 * Only one process can publish under a name. While it is publishing, a second process ends with an error. If
 * the first process is silent for too long, the second process replaces it. If the first process then becomes
 * active again, it stops, and readers skip the messages that it still sends.
 *
 * The payload of a message is the exact bytes of a post. The headers contain the id, the format, the tags and
 * the position of the post. While servers restart or elect a leader, messages are sent again with the same
 * id, for up to `maxOutageMs`.
 *
 * @throws OptionError Immediately, before any I/O.
 * @throws JetStreamError See `JetStreamFailure` for all reasons. The error contains the last committed
 *   cursor.
 * @throws DataError If an item has no id or is larger than the servers accept, unless `onDamaged` handles it.
 * @example
 * await pipeline(
 *   replay(account(), { streamType: 'rulestream', fromDate, toDate }),
 *   toJetStream({
 *     connection: () => connect({ servers: 'nats://127.0.0.1:4222' }),
 *     stream: 'posts',
 *     subject: 'posts',
 *     create: { maxBytes: 10 * 2 ** 30, replicas: 3 },
 *   }),
 * );
 */
export function toJetStream<T>(options: ToJetStreamOptions<T>): Sink<T, PublishedToJetStream> {
  const settings = settingsOf(options);
  const sink: Sink<T, PublishedToJetStream> = (input, run = {}) => publish(settings, input, run);
  return withInternals(sink, { holdsLocks: true, counts: true });
}

interface PublishSettings<T>
  extends PublishedStream,
    Access,
    Pick<PublisherOptions, 'pack' | 'maxInFlight' | 'commitIntervalMs' | 'takeoverMs'> {
  /** The name of the publisher, without its shard. */
  readonly name: string;
  readonly bucket: string;
  readonly onDamaged: OnDamaged | undefined;
  readonly outgoing: (item: T, origin: string | undefined) => Outgoing;
}

function settingsOf<T>(options: ToJetStreamOptions<T>): PublishSettings<T> {
  const call = 'toJetStream';
  const {
    create,
    batch,
    id,
    payload,
    topic,
    name,
    bucket = 'millrace',
    ...checked
  } = checkOptions(call, OPTIONS, options);
  checkAccess(call, checked);
  const made = create && checkCreate(call, create);
  const topicOf = checkTopics(call, checked.topics, topic, made?.shards);
  return {
    ...checked,
    bucket,
    create: made,
    name: name ?? checked.stream,
    pack: checkBatch(call, batch),
    outgoing: (item, origin) => {
      const outgoing = outgoingOf(item, origin, id, payload);
      return topicOf === undefined ? outgoing : { ...outgoing, topic: topicOf(item) };
    },
  };
}

async function publish<T>(
  settings: PublishSettings<T>,
  input: AsyncIterable<T>,
  { signal: ended, progress }: SinkRun,
): Promise<PublishedToJetStream> {
  const flow = identityOf(input);
  if (isIncremental(flow))
    throw new OptionError(
      'source',
      '`toJetStream` cannot take a source that is `incremental`: once a flow is complete, its readers end',
    );
  const broken = new LinkedAbort(ended);
  const { signal } = broken;
  let publisher: Publisher | undefined;
  let connection: JetStreamConnection | undefined;
  let failure: { readonly error: unknown } | undefined;
  const unlink = onceAborted(signal, () => void connection?.close());
  try {
    connection = await JetStreamConnection.open(settings, {
      call: 'toJetStream',
      signal,
      progress,
      cursor: () => publisher?.cursor,
    });
    const stream = await openStream(connection, 'toJetStream', settings);
    const kv = await connection.bucket(settings.bucket, stream.replicas);
    const bucket = { connection, kv, name: settings.bucket };
    publisher = await Publisher.start(bucket, {
      ...settings,
      key: keyOf(settings.name, flow),
      stream,
      topics: (settings.topics?.length ?? 0) + 1,
      flow,
      progress,
      onFailure: error => {
        failure ??= { error };
        broken.abort(error);
      },
    });
    if (publisher.isComplete) return publisher.counts;
    const pull = { signal, progress, resume: publisher.cursor };
    try {
      await publishBatches(publisher, settings, batchesOf(input, pull), { signal, progress });
    } catch (error) {
      // The service has charged for the posts that were delivered, so the next run must not request them
      // again.
      if (isBudgetSpent(error)) await publisher.commitLast();
      throw error;
    }
    await publisher.finish();
    return publisher.counts;
  } catch (error) {
    throw failure === undefined || ended?.aborted === true ? error : failure.error;
  } finally {
    unlink();
    publisher?.close();
    // Ends the requests that are still being retried.
    broken.abort();
    await connection?.close();
    broken.unlink();
  }
}

async function publishBatches<T>(
  publisher: Publisher,
  { outgoing, onDamaged }: PublishSettings<T>,
  batches: Batches<T>,
  { signal, progress }: Pick<SinkRun, 'progress'> & { readonly signal: AbortSignal },
): Promise<void> {
  for await (const { items, cursor, origin } of batches) {
    for (const item of detached(items)) {
      try {
        const full = publisher.add(outgoing(item, origin));
        if (full !== undefined) await full;
      } catch (error) {
        if (!(error instanceof DamagedItem) || onDamaged === undefined) throw error;
        const record = { origin, raw: Buffer.from(error.raw) };
        await answerOf(onDamaged(record, error), signal);
        progress?.drop('damaged', 1);
      }
    }
    if (cursor !== undefined) publisher.reached(cursor);
  }
}

/**
 * Returns the key under which a publisher stores its cursor in the key-value bucket. Each shard of a source
 * has its own key.
 */
function keyOf(name: string, flow: FlowIdentity): string {
  const shard = shardOfFlow(flow);
  return shard === undefined ? name : `${name}-${shard.replace('/', '-of-')}`;
}
