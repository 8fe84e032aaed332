import { HEADERS } from './message.js';
import type { MessageGroup } from './read-messages.js';
import { inBoth, type LostPositions, subjectPositionOf } from './subject-positions.js';

type Message = MessageGroup['messages'][number];

/** Each new consumer is on a replica that the servers choose: with three, one in 700 searches misses one of them. */
const TRIES = 16;

/**
 * Looks for messages that are lost where they were read. Replicas of a stream may differ after a failure, and have
 * other sequences for the same messages, so the same part is read again and again, each time by a new consumer.
 *
 * @param read Reads the part of the stream that should have them.
 */
export async function readAgain(
  lost: readonly LostPositions[],
  read: () => AsyncIterable<Pick<MessageGroup, 'messages'>>,
): Promise<readonly Message[]> {
  const found = new Map<string, Message>();
  const count = lost.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  for (let tries = 0; tries < TRIES && found.size < count; tries++) {
    for await (const { messages } of read()) {
      for (const message of messages) {
        const at = subjectPositionOf(message.headers);
        if (at === undefined) continue;
        const publisher = message.headers?.get(HEADERS.publisher) ?? '';
        const { subject } = message;
        const one = { publisher, subject, from: at.position, to: at.position };
        const key = `${publisher} ${subject} ${at.position}`;
        if (inBoth(lost, [one]).length > 0 && !found.has(key)) found.set(key, message);
      }
      if (found.size === count) break;
    }
  }
  return [...found.values()];
}
