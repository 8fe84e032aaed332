import { Activity } from '../activity/activity.js';
import { DataError } from '../errors.js';
import { withOrigin } from '../flow/with-origin.js';
import type { OnDamaged } from '../json/damaged-record.js';
import { excerpt } from '../json/excerpt.js';
import { isDeeperThan } from '../json/json-depth.js';
import { recordLimits } from '../json/record-limits.js';
import { formatTimestamp, MINUTE, type Window } from '../time.js';
import type { QueryPosition } from './query-cursor.js';
import type { Results } from './run-query.js';

const POST_LIMITS = recordLimits('search');

/** The posts of one run of a search, newest first. */
export class PostResults implements Results<Activity> {
  readonly onDamaged: OnDamaged | undefined;

  constructor(onDamaged: OnDamaged | undefined) {
    this.onDamaged = onDamaged;
  }

  parse(bytes: Buffer, origin: string): Activity {
    return withOrigin(origin, () => parsePost(bytes));
  }

  /** Progress ignores a post without a time; the consumer gets the error when it reads the time. */
  timeOf(post: Activity): number | undefined {
    try {
      return post.postedAt.getTime();
    } catch {
      return undefined;
    }
  }

  fractionOf({ from, to }: Window, { reached }: QueryPosition): number {
    return reached === undefined ? 0 : (to - reached) / (to - from);
  }

  missing({ window, reached }: QueryPosition): string {
    const { fromDate = 'the start' } = window;
    const to = reached === undefined ? window.toDate : formatTimestamp(reached + MINUTE);
    return `posts from ${fromDate} to ${to ?? 'now'}`;
  }
}

function parsePost(bytes: Buffer): Activity {
  const { maxBytes, maxDepth } = POST_LIMITS;
  if (bytes[0] !== 0x7b) throw new DataError(`A result is not a post: ${excerpt(bytes)}`);
  if (bytes.length > maxBytes) throw new DataError(`A result is larger than ${maxBytes} bytes`);
  if (bytes.length > 2 * maxDepth && isDeeperThan(maxDepth, bytes))
    throw new DataError(`A result is nested deeper than ${maxDepth}`);
  const post = new Activity(bytes);
  // Throws where the post has no id.
  void post.id;
  return post;
}
