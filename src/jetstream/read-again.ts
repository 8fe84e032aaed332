import { HEADERS } from './message.js';
import type { MessageGroup } from './read-messages.js';
import { inBoth, type LostPositions, subjectPositionOf } from './subject-positions.js';
import { unlessDamaged } from './unless-damaged.js';

type Message = MessageGroup['messages'][number];

/**
 * For each replica: the servers choose one for each new consumer. With three replicas, one search in 5,600 never
 * reads one of them; with five, one in 1,500.
 */
const TRIES = 8;

/**
 * Looks for messages that are lost where they were read. Replicas of a stream may differ after a failure, and have
 * other sequences for the same messages, so the same part is read again and again, each time by a new consumer.
 *
 * @param replicas How many the stream has.
 * @param read Reads the part of the stream that should have them.
 */
export async function readAgain(
  lost: readonly LostPositions[],
  replicas: number,
  read: () => AsyncIterable<Pick<MessageGroup, 'messages'>>,
): Promise<readonly Message[]> {
  const found = new Map<string, Message>();
  const count = lost.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  for (let tries = 0; tries < TRIES * replicas && found.size < count; tries++) {
    for await (const { messages } of read()) {
      for (const message of messages) {
        const at = unlessDamaged(() => subjectPositionOf(message.headers));
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
