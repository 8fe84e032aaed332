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
import { Epochs, isEpochs } from './epochs.js';
import { JetStreamError } from './jet-stream-error.js';
import { shownRange } from './lost-sequences.js';
import { nameProblem, prefixProblem } from './names.js';
import { postsOf } from './posts-of.js';
import { readMessages, remade } from './read-messages.js';
import { type Access, accessOf, type JetStreamServers, SERVER_OPTIONS } from './servers.js';
import { type OpenedStream, openStream } from './stream-settings.js';
import {
  inBoth,
  isSubjectPositions,
  type LostPositions,
  SubjectPositions,
} from './subject-positions.js';

/**
 * Messages of a stream that `fromJetStream` could not deliver: sequences that the stream has dropped, or positions
 * of a publisher that its servers have lost after they had acknowledged them.
 */
export interface JetStreamGap {
  /** The subject that the posts may have had. */
  readonly subject: string;
  /** The publisher, where `from` and `to` are positions among its messages of the subject, and not sequences. */
  readonly publisher?: string | undefined;
  /** The first sequence of the stream that is missing, or the first position. */
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
   * Called for each gap: messages that the stream dropped, that were deleted before they were read, or that its
   * servers have lost. Without it, a gap ends the flow with an `IncompleteError`. It may return a promise.
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
 * was replaced sent too late is left out, and so is what servers have stored twice.
 *
 * @throws OptionError Immediately, before any I/O.
 * @throws IncompleteError When the stream has dropped messages that were not read; `missing` has their
 * sequences, and `cursor` is behind them. Where other subjects share the stream, they may have been of those.
 * Also when servers have lost messages after they had acknowledged them; `missing` then has the subject, the
 * publisher, and the positions among its messages of that subject.
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
  const from = startOf(resume, stream, subject);
  const { epochs, positions } = from;
  const end = until === 'never' ? undefined : until === 'caught up' ? stream.lastSequence : until;
  let last = from.after;
  const cursor = (): Cursor => ({
    ...{ source: 'jetstream', stream: stream.name, created: stream.created, subject, seq: last },
    ...{ epochs: epochs.toJSON(), positions: positions.toJSON() },
  });
  const report = async (gaps: readonly JetStreamGap[]) => {
    if (gaps.length > 0 && onGap === undefined) throw incomplete(stream.name, gaps, cursor());
    for (const gap of gaps) await onGap?.(gap);
  };
  try {
    // The run before this one may have ended before it had reported all.
    await report(positions.takeLost());
    if (end !== undefined && last >= end) return;
    for await (const group of readMessages(connection, {
      ...{ stream: stream.name, created: stream.created, subject },
      ...{ after: last, until: end },
    })) {
      const items: T[] = [];
      for (const message of group.messages) {
        if (progress !== undefined) progress.receivedBytes += message.data.length;
        if (!epochs.admits(message.subject, message.headers)) continue;
        if (!positions.admits(message.subject, message.headers)) continue;
        const origin = `${stream.name} sequence ${message.seq}`;
        const posts = await postsOf(message.data, message.headers, origin);
        for (const post of posts) items.push(item(post));
      }
      if (progress !== undefined) {
        progress.received += items.length;
        if (end !== undefined) progress.fraction = Math.min(1, group.position / end);
      }
      last = group.position;
      if (group.lost !== undefined) {
        positions.skip();
        await report([{ subject, ...group.lost }]);
      }
      const batch: Batch<T> = { items, cursor: cursor(), origin: stream.name };
      yield batch;
      await report(positions.takeLost());
    }
    if (end === undefined) return;
    const lost = await lostBehind(connection, stream, { subject, end, epochs, positions });
    positions.dismiss(lost);
    await report(lost);
  } catch (error) {
    throw error instanceof JetStreamError && error.cursor === undefined
      ? new JetStreamError(error.message, {
          ...{ failure: error.failure, retryable: error.retryable, cause: error.cause },
          cursor: cursor(),
        })
      : error;
  }
}

/**
 * Which positions before the end are lost, where the messages before it leave open whether they come later: what
 * is behind the end says so.
 */
async function lostBehind(
  connection: JetStreamConnection,
  { name, created }: OpenedStream,
  {
    subject,
    end,
    epochs,
    positions,
  }: {
    readonly subject: string;
    readonly end: number;
    readonly epochs: Epochs;
    readonly positions: SubjectPositions;
  },
): Promise<readonly LostPositions[]> {
  const { open } = positions;
  if (open.length === 0) return [];
  const epochsBehind = new Epochs(epochs.toJSON());
  const positionsBehind = new SubjectPositions(positions.toJSON());
  const { state } = await connection.streamInfo(name);
  const groups = readMessages(connection, {
    ...{ stream: name, created, subject, after: end, until: state.last_seq, headersOnly: true },
  });
  for await (const { messages, lost } of groups) {
    // Whether they were among these, nobody can say.
    if (lost !== undefined) positionsBehind.skip();
    for (const { subject, headers } of messages)
      if (epochsBehind.admits(subject, headers)) positionsBehind.admits(subject, headers);
    if (inBoth(open, positionsBehind.open).length === 0) break;
  }
  return inBoth(open, positionsBehind.takeLost());
}

/** Where a reader stands. */
interface Start {
  readonly after: number;
  readonly epochs: Epochs;
  readonly positions: SubjectPositions;
}

/** Where a cursor stands; without one, before the first message that the stream has. */
function startOf(resume: Cursor | undefined, stream: OpenedStream, subject: string): Start {
  if (resume === undefined) {
    const after = Math.max(0, stream.firstSequence - 1);
    return {
      after,
      epochs: new Epochs(),
      positions: new SubjectPositions({ isWhole: after === 0 }),
    };
  }
  const { source, created, seq, epochs, positions } = resume;
  if (source !== 'jetstream' || resume.stream !== stream.name || resume.subject !== subject)
    throw optionError(
      'fromJetStream',
      'resume',
      `is not a cursor of the stream ${stream.name} and the subject ${subject}`,
    );
  if (created !== stream.created) throw remade(stream.name, String(created), stream.created);
  if (!Number.isSafeInteger(seq) || !isEpochs(epochs) || !isSubjectPositions(positions))
    throw optionError('fromJetStream', 'resume', 'is a cursor that is damaged');
  return {
    after: seq as number,
    epochs: new Epochs(epochs),
    positions: new SubjectPositions(positions),
  };
}

function incomplete(
  stream: string,
  gaps: readonly JetStreamGap[],
  cursor: Cursor,
): IncompleteError {
  const missing = gaps.map(gap => `${gap.subject}: ${shownGap(gap)}`);
  const what = missing.join('; ');
  return new IncompleteError(
    gaps[0]?.publisher === undefined
      ? `The stream ${stream} no longer has ${what}: dropped or deleted before this reader came to it. Pass \`onGap\` to go on behind them, and give the stream a larger \`maxBytes\` or \`maxAgeMs\``
      : `The stream ${stream} does not have ${what}: its servers acknowledged these messages and have lost them. Pass \`onGap\` to go on without them, and read the posts from their source again`,
    { missing, cursor },
  );
}

function shownGap({ publisher, from, to }: JetStreamGap): string {
  if (publisher === undefined) return shownRange({ from, to });
  const positions = from === to ? `position ${from}` : `positions ${from} to ${to}`;
  return `${positions} of the publisher ${publisher}`;
}

function isSequence(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}
