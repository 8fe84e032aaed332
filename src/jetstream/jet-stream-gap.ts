import { IncompleteError } from '../errors.js';
import type { Cursor } from '../flow/flow.js';
import { shownRange } from './lost-sequences.js';

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

/** The error of a reader that must not go on behind gaps. */
export function incomplete(
  stream: string,
  gaps: readonly JetStreamGap[],
  cursor: Cursor,
): IncompleteError {
  const missing = gaps.map(gap => `${gap.subject}: ${shownGap(gap)}`);
  const what = missing.join('; ');
  return new IncompleteError(
    gaps[0]?.publisher === undefined
      ? `The stream ${stream} no longer has ${what}: dropped or deleted before this reader reached it. Pass \`onGap\` to go on behind them, and give the stream a larger \`maxBytes\` or \`maxAgeMs\``
      : `The stream ${stream} does not have ${what}: its servers acknowledged these messages and have lost them. Pass \`onGap\` to go on without them, and read the posts from their source again`,
    { missing, cursor },
  );
}

function shownGap({ publisher, from, to }: JetStreamGap): string {
  if (publisher === undefined) return shownRange({ from, to });
  const positions = from === to ? `position ${from}` : `positions ${from} to ${to}`;
  return `${positions} of the publisher ${publisher}`;
}
