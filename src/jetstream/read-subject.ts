import type { JsMsg } from '@nats-io/jetstream';
import type { Activity } from '../activity/activity.js';
import { cursorError } from '../check.js';
import type { Batch, Batches, Cursor, Run } from '../flow/flow.js';
import { isCount } from '../json/json-checks.js';
import type { JetStreamConnection } from './connection.js';
import { Epochs, isEpochs } from './epochs.js';
import { errorOfMessage } from './error-of-message.js';
import { JetStreamError } from './jet-stream-error.js';
import { incomplete, type JetStreamGap } from './jet-stream-gap.js';
import { HEADERS } from './message.js';
import { postOf } from './post-of.js';
import { NodeLacksZstd, postsOf } from './posts-of.js';
import { readAgain } from './read-again.js';
import { readMessages, remade } from './read-messages.js';
import type { OpenedStream } from './stream-settings.js';
import {
  inBoth,
  isSubjectPositions,
  type LostPositions,
  SubjectPositions,
} from './subject-positions.js';
import { unlessDamaged } from './unless-damaged.js';

/** How many sequences before and behind it replicas may have a message that is lost at a sequence. */
const AROUND = 1_000;

/** What to make of messages, and where to end. */
export interface SubjectPlan<T> {
  readonly until: 'never' | 'caught up' | number;
  readonly onGap: ((gap: JetStreamGap) => unknown) | undefined;
  /** `undefined` for posts. */
  readonly item: ((bytes: Buffer) => T) | undefined;
}

/** The posts of a subject, or of all by a wildcard, from a cursor on; each once, and what is gone is reported. */
export async function* readSubject<T>(
  connection: JetStreamConnection,
  { onGap, item, until }: SubjectPlan<T>,
  stream: OpenedStream,
  subject: string,
  { resume, progress }: Run,
): Batches<T | Activity> {
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
  /** @param admission What leaves out messages of earlier epochs; none for one that was missing in its epoch. */
  const take = async (message: JsMsg, items: (T | Activity)[], admission?: Epochs) => {
    const { data, headers, subject: of, seq } = message;
    let advice = `Delete the message (\`nats stream rmm ${stream.name} ${seq}\`) and run the same again with \`onGap\`: it goes on behind it`;
    try {
      if (admission?.admits(of, headers) === false) return;
      if (progress !== undefined) progress.receivedBytes += data.length;
      if (!positions.admits(of, headers)) return;
      const posts = await postsOf(data, headers);
      const isOurs = (headers?.get(HEADERS.publisher) ?? '') !== '';
      // What `item` throws may be a mistake in it, and the message intact.
      if (item !== undefined) advice = '';
      const made = posts.map(post => (item === undefined ? postOf(post, isOurs) : item(post)));
      // All or none of a message. Not as arguments: there may be too many.
      for (const one of made) items.push(one);
      if (progress !== undefined) progress.received += posts.length;
    } catch (error) {
      if (error instanceof NodeLacksZstd) advice = 'Run the same with a newer Node';
      throw errorOfMessage({ stream: stream.name, subject: of, seq }, error, advice);
    }
  };
  const around = async function* (sequence: number) {
    const { state } = await connection.streamInfo(stream.name);
    yield* readMessages(connection, {
      ...{ stream: stream.name, created: stream.created, subject },
      after: Math.max(0, sequence - AROUND),
      until: Math.min(sequence + AROUND, state.last_seq),
    });
  };
  const recovered = async function* (): Batches<T | Activity> {
    if (stream.replicas > 1 && positions.lost.length > 0) {
      const items: (T | Activity)[] = [];
      const found = await readAgain(positions.lost, stream.replicas, () => around(last));
      for (const message of found) await take(message, items);
      yield { items, cursor: cursor(), origin: stream.name };
    }
    await report(positions.takeLost());
  };
  try {
    // The run before this one may have ended before it had reported all.
    yield* recovered();
    if (end !== undefined && last >= end) return;
    for await (const group of readMessages(connection, {
      ...{ stream: stream.name, created: stream.created, subject },
      ...{ after: last, until: end },
    })) {
      const items: (T | Activity)[] = [];
      for (const message of group.messages) {
        try {
          await take(message, items, epochs);
        } catch (error) {
          // Without a cursor, which would count the message that failed.
          if (items.length > 0) yield { items, origin: stream.name };
          throw error;
        }
      }
      if (progress !== undefined && end !== undefined)
        progress.fraction = Math.min(1, group.position / end);
      last = group.position;
      if (group.lost !== undefined) {
        positions.skip();
        await report([{ subject, ...group.lost }]);
      }
      const batch: Batch<T | Activity> = { items, cursor: cursor(), origin: stream.name };
      yield batch;
      yield* recovered();
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
 * Which positions before the end are lost, where the messages before it do not show whether they come later: the
 * messages behind the end do.
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
    // It is unknown whether they were among these.
    if (lost !== undefined) positionsBehind.skip();
    for (const { subject, headers } of messages)
      unlessDamaged(
        () => epochsBehind.admits(subject, headers) && positionsBehind.admits(subject, headers),
      );
    if (inBoth(open, positionsBehind.open).length === 0) break;
  }
  return inBoth(open, positionsBehind.takeLost());
}

/** Where a reader starts. */
interface Start {
  readonly after: number;
  readonly epochs: Epochs;
  readonly positions: SubjectPositions;
}

/** Where to go on from a cursor; without one, at sequence 1, so that what the stream has dropped since then is reported. */
function startOf(resume: Cursor | undefined, stream: OpenedStream, subject: string): Start {
  if (resume === undefined)
    return { after: 0, epochs: new Epochs(), positions: new SubjectPositions({ isWhole: true }) };
  const { source, created, seq, epochs, positions } = resume;
  if (source !== 'jetstream' || resume.stream !== stream.name || resume.subject !== subject)
    throw cursorError(
      `is not one of fromJetStream() for the stream ${stream.name} and the subject ${subject}`,
    );
  if (created !== stream.created) throw remade(stream.name, String(created), stream.created);
  if (!isCount(seq) || !isEpochs(epochs) || !isSubjectPositions(positions))
    throw cursorError('is damaged');
  return {
    after: seq,
    epochs: new Epochs(epochs),
    positions: new SubjectPositions(positions),
  };
}
