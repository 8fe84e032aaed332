import { onceAborted } from '../base/abortable.js';
import {
  checkOptions,
  cursor,
  explained,
  flag,
  func,
  type OptionTable,
  optionError,
  required,
  special,
} from '../base/check.js';
import { environmentShard, SHARD_OPTION, type Shard, shardMember } from '../base/shard.js';
import {
  type Batches,
  type Cursor,
  type Flow,
  OwnFlow,
  type Run,
  sourceFlow,
} from '../flow/flow.js';
import { mergeBatches } from '../flow/merge-batches.js';
import { isCount } from '../json/type-guards.js';
import type { Activity } from '../post/activity.js';
import { JetStreamConnection } from './connection.js';
import {
  type Access,
  CONNECTION_OPTIONS,
  checkAccess,
  type JetStreamConnectionOptions,
} from './connection-options.js';
import type { JetStreamGap } from './jet-stream-errors.js';
import { type ReadSettings, SubjectReader } from './read-subject.js';
import {
  findStream,
  nameProblem,
  type OpenedStream,
  prefixProblem,
  type ReadStream,
  subjectsProblem,
} from './stream-settings.js';

/**
 * Options of `fromJetStream`: the stream, the part of it to read, where to end, and what to do if posts are
 * missing.
 */
export interface FromJetStreamOptions<T = Activity> extends JetStreamConnectionOptions {
  /** The name of the stream. */
  readonly stream: string;
  /**
   * The prefix of the stream's subjects, if `toJetStream` fills the stream. For example, `posts` means
   * `posts.0`, `posts.1` and so on.
   */
  readonly subject?: string | undefined;
  /**
   * The subjects to read, if other programs fill the stream. Pass this option or `subject`. The subjects may
   * contain the wildcards of NATS (`posts.>`, `posts.*.en`). Each message must be one JSON object with an id,
   * unless `item` is set.
   */
  readonly subjects?: string | readonly string[] | undefined;
  /** Whether to wait for a stream that does not exist yet. The wait has no time limit. @default false */
  readonly waitForStream?: boolean | undefined;
  /**
   * The part of the stream that this process reads. The subjects of the stream, or the subjects in
   * `subjects`, are assigned to the shards in turn. In a stream that `toJetStream` fills, all posts with the
   * same id are therefore in one shard.
   * @default the environment variable `MILLRACE_SHARD`, such as 2/8; if it is not set, the whole stream
   */
  readonly shard?: Shard | undefined;
  /**
   * Where to end: `'caught up'` ends after all messages that the stream has when the run starts. A number is
   * a sequence of the stream, after which the flow ends. `'never'` does not end.
   * @default 'never'
   */
  readonly until?: 'never' | 'caught up' | number | undefined;
  /**
   * Called for each gap in the stream. The messages of a gap were dropped by the stream, deleted
   * before this reader reached them, or lost by the servers. A reader without a cursor begins at
   * sequence 1, so messages that were dropped before it started are also a gap. The function may
   * return a promise. Without this option, a gap ends the flow with an `IncompleteError`.
   */
  readonly onGap?: ((gap: JetStreamGap) => unknown) | undefined;
  /**
   * Creates an item from its bytes in a message.
   * @default creates an `Activity`; the flow fails if it has no id
   */
  readonly item?: ((payload: Buffer) => T) | undefined;
  /**
   * The cursor of a batch or of an error. The flow resumes from this cursor. A cursor in the checkpoint of
   * the sink takes precedence.
   */
  readonly resume?: Cursor | undefined;
}

const OPTIONS = {
  ...CONNECTION_OPTIONS,
  stream: required(explained<string>('the name of the stream', nameProblem)),
  subject: explained<string>('the prefix of its subjects', prefixProblem),
  subjects: explained<string | readonly string[]>('the subjects to read', subjectsProblem),
  waitForStream: flag('whether to wait for a stream that does not exist yet', false),
  shard: SHARD_OPTION,
  until: special<'never' | 'caught up' | number, 'never'>(
    'where to end',
    "'never', 'caught up' or a sequence of the stream from 1",
    value => value === 'never' || value === 'caught up' || (isCount(value) && value >= 1),
    'never',
  ),
  onGap: func('called for each gap'),
  item: func('how to make an item from bytes'),
  resume: cursor(),
} satisfies OptionTable<FromJetStreamOptions<unknown>>;

/**
 * Reads the posts of a NATS JetStream stream that `toJetStream` fills, in stream order. The cursor is a
 * sequence of the stream, and the servers store nothing about the reader. A sink with a checkpoint writes
 * each post exactly once, even after kill -9 of this process or of servers.
 *
 * The flow continues while servers restart or elect a leader, for up to `maxOutageMs`. Messages that a
 * replaced publisher sent too late, and messages that servers stored twice, are skipped.
 *
 * @throws OptionError Immediately, before any I/O.
 * @throws IncompleteError If the stream has dropped messages before they were read. `missing` lists the
 *   sequences of these messages, and `cursor` is after them. If the stream has other subjects, the dropped
 *   messages may have been on those. Also thrown if the servers have lost acknowledged messages that no
 *   replica has. `missing` then lists the subject, the publisher, and the positions of the lost messages
 *   among the publisher's messages on that subject.
 * @throws DataError If a message is damaged or is not a post. The error names its subject and sequence. All
 *   posts before that message are delivered. If you delete the message, the same script with `onGap`
 *   continues after it.
 * @throws JetStreamError If the servers stay unreachable or refuse the login, or if the stream was recreated.
 * @example
 * await pipeline(
 *   fromJetStream({ connection: () => connect(), stream: 'posts', subject: 'posts' }),
 *   files({ path: 'out/{day}.jsonl', checkpoint: 'out/checkpoint.json' }),
 * );
 */
export function fromJetStream(
  options: FromJetStreamOptions<Activity> & { readonly item?: undefined },
): Flow<Activity>;
export function fromJetStream<T>(options: FromJetStreamOptions<T>): Flow<T>;
export function fromJetStream<T>(options: FromJetStreamOptions<T>): Flow<T | Activity> {
  const given: FromJetStreamOptions<unknown> = options;
  const checked = checkOptions('fromJetStream', OPTIONS, given);
  const { stream, subject, until, item, resume } = checked;
  const { shard = environmentShard('fromJetStream') } = checked;
  checkAccess('fromJetStream', checked);
  if ((subject === undefined) === (checked.subjects === undefined))
    throw optionError(
      'fromJetStream',
      'subject',
      subject === undefined
        ? 'is missing: pass the prefix of a stream of toJetStream(), or the `subjects` of another one'
        : 'cannot be used with `subjects`: pass one',
    );
  const subjects = checked.subjects === undefined ? undefined : [checked.subjects].flat();
  const settings: StreamSettings<T> = {
    ...checked,
    subjects,
    shard,
    item: item as StreamSettings<T>['item'],
  };
  const step = {
    step: 'fromJetStream',
    stream,
    ...(subject !== undefined && { subject }),
    ...(subjects !== undefined && { subjects }),
    // A checkpoint stores the identity of its flow. `until` is part of that identity only if it is a
    // sequence. A checkpoint of a reader that never ends can then be used with `caught up` later.
    ...(typeof until === 'number' && { until }),
    ...shardMember(shard),
  };
  return sourceFlow(step, run => read(settings, { ...run, resume: run.resume ?? resume }));
}

interface StreamSettings<T> extends ReadSettings<T>, ReadStream, Access {
  readonly shard: Shard | undefined;
}

async function* read<T>(settings: StreamSettings<T>, run: Run): Batches<T | Activity> {
  const { signal, progress } = run;
  const connection = await JetStreamConnection.open(settings, {
    call: 'fromJetStream',
    signal,
    progress,
    cursor: () => undefined,
  });
  const unlink = onceAborted(signal, () => void connection.close());
  try {
    const stream = await findStream(connection, 'fromJetStream', settings);
    const subjects = subjectsFor(settings, stream);
    const parts = subjects.map(
      subject =>
        new OwnFlow<T | Activity>(at =>
          new SubjectReader({ ...settings, connection, stream, subject }, at).batches(),
        ),
    );
    const [only] = parts;
    if (only !== undefined && parts.length === 1) yield* only.batches(run);
    else {
      const merged = parts.map(part => (pull: Run) => part.batches(pull));
      yield* mergeBatches(merged, run, cursor => ({ items: [], cursor }));
    }
  } finally {
    unlink();
    await connection.close();
  }
}

/**
 * Returns the subjects to read. For a stream that `toJetStream` fills, this is one subject with a wildcard,
 * or, for a shard, each subject of the shard.
 */
function subjectsFor(
  { subject, shard, stream: name }: StreamSettings<unknown>,
  { subjects }: OpenedStream,
): readonly string[] {
  if (shard === undefined || shard.of === 1)
    return subject === undefined ? subjects : [`${subject}.*`];
  if (shard.of > subjects.length)
    throw optionError(
      'fromJetStream',
      'shard',
      subject === undefined
        ? `is one of ${shard.of}, and \`subjects\` has ${subjects.length}: name one for each shard at least`
        : `is one of ${shard.of}, and the stream ${name} has ${subjects.length} subjects: use at most as many shards`,
    );
  return subjects.filter((_, number) => number % shard.of === shard.index - 1);
}
