import { Activity } from '../activity/activity.js';
import {
  checkOptions,
  cursor,
  explained,
  func,
  type OptionTable,
  optionError,
  required,
  special,
} from '../check.js';
import { IncompleteError } from '../errors.js';
import { type Batch, type Batches, type Cursor, Flow, type Run } from '../flow/flow.js';
import { SHARE_OPTION, type Share, shareName, shareOf } from '../share.js';
import { mergeBatches } from '../sources/merge-batches.js';
import { JetStreamConnection } from './connection.js';
import { Epochs, type EpochsJson } from './epochs.js';
import { JetStreamError } from './jet-stream-error.js';
import { type Range, shownRange } from './lost-sequences.js';
import { nameProblem, prefixProblem } from './names.js';
import { postsOf } from './posts-of.js';
import { readMessages, remade } from './read-messages.js';
import { type Access, accessOf, type JetStreamServers, SERVER_OPTIONS } from './servers.js';
import { type OpenedStream, openStream } from './stream-settings.js';

/** Sequences of a stream that `fromJetStream` could not deliver. */
export interface JetStreamGap {
  /** The subject that the posts may have had. */
  readonly subject: string;
  /** The first sequence of the stream that is missing. */
  readonly from: number;
  /** The last one. */
  readonly to: number;
}

/** The stream to read, the part of it, where to end, and what to do about posts that are gone. */
export interface FromJetStreamOptions<T = Activity> extends JetStreamServers {
  /** The name of the stream. */
  readonly stream: string;
  /** The prefix of its subjects: `posts` for `posts.0`, `posts.1` and so on. */
  readonly subject: string;
  /**
   * The part of the stream that this process takes: its subjects are dealt out to shares in turn, so that all
   * posts of an id are in one share.
   * @default `MILLRACE_SHARE`, such as 2/8, or all
   */
  readonly share?: Share | undefined;
  /**
   * Where to end: at what the stream has when the run starts (`caught up`), at a sequence of the stream, that
   * one included, or never.
   * @default 'never'
   */
  readonly until?: 'never' | 'caught up' | number | undefined;
  /**
   * Called for each gap: sequences that the stream dropped or that were deleted before they were read. Without
   * it, a gap ends the flow with an `IncompleteError`. It may return a promise.
   */
  readonly onGap?: ((gap: JetStreamGap) => unknown) | undefined;
  /** Makes an item of the bytes that `toJetStream` sent of one. @default an `Activity` */
  readonly item?: ((payload: Buffer) => T) | undefined;
  /** Where to resume: the cursor of a batch or an error. A sink with a checkpoint passes it. */
  readonly resume?: Cursor | undefined;
}

const OPTIONS = {
  ...SERVER_OPTIONS,
  stream: required(explained<string>('the name of the stream', nameProblem)),
  subject: required(explained<string>('the prefix of its subjects', prefixProblem)),
  share: SHARE_OPTION,
  until: special<'never' | 'caught up' | number, 'never'>(
    'where to end',
    "'never', 'caught up' or a sequence of the stream from 1",
    value => value === 'never' || value === 'caught up' || isSequence(value),
    'never',
  ),
  onGap: func('called for each gap'),
  item: func('what makes an item of bytes'),
  resume: cursor(),
} satisfies OptionTable<FromJetStreamOptions<unknown>>;

/**
 * The posts of a NATS JetStream stream that `toJetStream` fills, in the order of the stream. The cursor is a
 * sequence of the stream, and the servers keep nothing of the reader: a sink with a checkpoint writes each post
 * exactly once, also over kill -9 of this process and of servers.
 *
 * It goes on by itself while servers restart or elect a leader, for up to `maxOutageMs`. What a publisher that
 * was replaced sent too late is left out.
 *
 * @throws OptionError Immediately, before any I/O.
 * @throws IncompleteError When the stream has dropped messages that were not read; `missing` has their
 * sequences, and `cursor` is behind them. Where other subjects share the stream, they may have been of those.
 * @throws JetStreamError When the servers stay out of reach, refuse the login, or the stream was made again.
 * @example
 * await pipeline(
 *   fromJetStream({ servers: 'nats://127.0.0.1:4222', stream: 'posts', subject: 'posts' }),
 *   files({ path: 'out/{day}.jsonl', checkpoint: 'out/checkpoint.json' }),
 * );
 */
export function fromJetStream(
  options: FromJetStreamOptions<Activity> & { readonly item?: undefined },
): Flow<Activity>;
export function fromJetStream<T>(options: FromJetStreamOptions<T>): Flow<T>;
export function fromJetStream<T>(options: FromJetStreamOptions<T>): Flow<T | Activity> {
  const checked = checkOptions<FromJetStreamOptions<unknown>, typeof OPTIONS>(
    'fromJetStream',
    OPTIONS,
    options,
  );
  const { stream, subject, share = shareOf('fromJetStream'), until, item, resume } = checked;
  const plan: Plan<T | Activity> = {
    ...{ stream, subject, share, until, onGap: checked.onGap },
    access: accessOf('fromJetStream', checked),
    item: (item as Plan<T>['item'] | undefined) ?? (bytes => new Activity(bytes)),
  };
  return new Flow(run => read(plan, { ...run, resume: run.resume ?? resume }), undefined, [
    {
      step: 'fromJetStream',
      ...{ stream, subject },
      // A reader that never ends may be ended later; another last sequence is another output.
      ...(typeof until === 'number' && { until }),
      ...(share !== undefined && { share: shareName(share) }),
    },
  ]);
}

interface Plan<T> {
  readonly access: Access;
  readonly stream: string;
  readonly subject: string;
  readonly share: Share | undefined;
  readonly until: 'never' | 'caught up' | number;
  readonly onGap: ((gap: JetStreamGap) => unknown) | undefined;
  readonly item: (bytes: Buffer) => T;
}

async function* read<T>(plan: Plan<T>, run: Run): Batches<T> {
  const { signal, progress } = run;
  const connection = await JetStreamConnection.open(plan.access, {
    ...{ call: 'fromJetStream', signal, progress },
    cursor: () => undefined,
  });
  const close = () => void connection.close();
  signal.addEventListener('abort', close, { once: true });
  try {
    const stream = await openStream(connection, 'fromJetStream', plan);
    const subjects = subjectsFor(plan, stream);
    const parts = subjects.map(
      subject => new Flow<T>(at => readSubject(connection, plan, stream, subject, at)),
    );
    const [only] = parts;
    if (only !== undefined && parts.length === 1) yield* only.batches(run);
    else yield* mergeBatches(parts, run, false);
  } finally {
    signal.removeEventListener('abort', close);
    await connection.close();
  }
}

/** All subjects by one wildcard, or each subject of a share. */
function subjectsFor(
  { subject, share, stream: name }: Plan<unknown>,
  { subjects }: OpenedStream,
): readonly string[] {
  if (share === undefined || share.of === 1) return [`${subject}.*`];
  if (share.of > subjects.length)
    throw optionError(
      'fromJetStream',
      'share',
      `is one of ${share.of}, and the stream ${name} has ${subjects.length} subjects: use at most as many shares`,
    );
  return subjects.filter((_, number) => number % share.of === share.index - 1);
}

async function* readSubject<T>(
  connection: JetStreamConnection,
  { onGap, item, until }: Plan<T>,
  stream: OpenedStream,
  subject: string,
  { resume, progress }: Run,
): Batches<T> {
  const from = placeOf(resume, stream, subject);
  const epochs = new Epochs(from.epochs);
  const end = until === 'never' ? undefined : until === 'caught up' ? stream.lastSequence : until;
  if (end !== undefined && from.after >= end) return;
  const cursorAt = (seq: number): Cursor => ({
    ...{ source: 'jetstream', stream: stream.name, created: stream.created, subject, seq },
    epochs: epochs.toJSON(),
  });
  let last = from.after;
  try {
    for await (const group of readMessages(connection, {
      ...{ stream: stream.name, created: stream.created, subject },
      ...{ after: from.after, until: end },
    })) {
      const { lost } = group;
      if (lost !== undefined && onGap === undefined)
        throw incomplete(stream.name, subject, lost, cursorAt(group.position));
      if (lost !== undefined) await onGap?.({ subject, ...lost });
      const items: T[] = [];
      for (const message of group.messages) {
        if (progress !== undefined) progress.receivedBytes += message.data.length;
        if (!epochs.admits(message.subject, message.headers)) continue;
        const origin = `${stream.name} sequence ${message.seq}`;
        const posts = await postsOf(message.data, message.headers, origin);
        for (const post of posts) items.push(item(post));
      }
      if (progress !== undefined) {
        progress.received += items.length;
        if (end !== undefined) progress.fraction = Math.min(1, group.position / end);
      }
      last = group.position;
      const batch: Batch<T> = { items, cursor: cursorAt(last), origin: stream.name };
      yield batch;
    }
  } catch (error) {
    throw error instanceof JetStreamError && error.cursor === undefined
      ? new JetStreamError(error.message, {
          ...{ failure: error.failure, retryable: error.retryable, cause: error.cause },
          cursor: cursorAt(last),
        })
      : error;
  }
}

/** Where a cursor stands; without one, before the first message that the stream has. */
function placeOf(
  resume: Cursor | undefined,
  stream: OpenedStream,
  subject: string,
): { readonly after: number; readonly epochs: EpochsJson } {
  if (resume === undefined) return { after: Math.max(0, stream.firstSequence - 1), epochs: {} };
  const { source, created, seq, epochs } = resume;
  if (source !== 'jetstream' || resume.stream !== stream.name || resume.subject !== subject)
    throw optionError(
      'fromJetStream',
      'resume',
      `is not a cursor of the stream ${stream.name} and the subject ${subject}`,
    );
  if (created !== stream.created) throw remade(stream.name, String(created), stream.created);
  return { after: Number(seq), epochs: epochs as EpochsJson };
}

function incomplete(stream: string, subject: string, lost: Range, cursor: Cursor): IncompleteError {
  const missing = shownRange(lost);
  return new IncompleteError(
    `The stream ${stream} no longer has ${missing} of ${subject}: dropped or deleted before this reader came to it. Pass \`onGap\` to go on behind them, and give the stream a larger \`maxBytes\` or \`maxAgeMs\``,
    { missing: [`${subject}: ${missing}`], cursor },
  );
}

function isSequence(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}
