/** A post and its author, as compliance events name them: by digits. */
export interface EventPost {
  readonly id: string;
  readonly userId: string;
}

/** The kinds of events that are generated for a post of the archive or for its author. */
export type EventKind =
  | 'delete'
  | 'drop'
  | 'undrop'
  | 'status_withheld'
  | 'status_withheld_flat'
  | 'favorite'
  | 'tweet_edit'
  | 'scrub_geo'
  | 'user_withheld'
  | 'user_withheld_flat'
  | UserKind;

export type UserKind =
  | 'user_delete'
  | 'user_undelete'
  | 'user_protect'
  | 'user_unprotect'
  | 'user_suspend'
  | 'user_unsuspend';

/**
 * The JSON of an event, with exact ids. The two withheld kinds come in the documented shape and, as
 * `_flat`, in that of older captures.
 */
export function printEvent(kind: EventKind, post: EventPost, at: number, country: string): string {
  const { id, userId } = post;
  const stamp = `"timestamp_ms":"${at}"`;
  const status = `{"id":${id},"id_str":"${id}","user_id":${userId},"user_id_str":"${userId}"}`;
  switch (kind) {
    case 'delete':
      return `{"delete":{"status":${status},${stamp}}}`;
    case 'favorite':
      return `{"delete":{"favorite":${status},${stamp}}}`;
    case 'drop':
    case 'undrop':
      return `{"${kind}":{"status":${status},${stamp}}}`;
    case 'status_withheld':
      return `{"status_withheld":{"status":${status},"withheld_in_countries":["${country}"],${stamp}}}`;
    case 'status_withheld_flat':
      return `{"status_withheld":{"id":${id},"user_id":${userId},"withheld_in_countries":["${country.toLowerCase()}"],${stamp}}}`;
    case 'tweet_edit': {
      const edited = editOf(id);
      return `{"tweet_edit":{"id":"${edited}","initial_tweet_id":"${id}","edit_tweet_ids":["${id}","${edited}"],${stamp}}}`;
    }
    case 'scrub_geo':
      return `{"scrub_geo":{"user_id":${userId},"up_to_status_id":${id},"up_to_status_id_str":"${id}","user_id_str":"${userId}",${stamp}}}`;
    case 'user_withheld': {
      const sent = new Date(at).toISOString().replace('Z', '+00:00');
      return `{"user_withheld":{"user":{"id":${userId},"id_str":"${userId}"},"withheld_in_countries":["${country}"],"timestampMs":"${sent}"}}`;
    }
    case 'user_withheld_flat':
      return `{"user_withheld":{"id":${userId},${stamp},"withheld_in_countries":["${country}"]}}`;
    default:
      return `{"${kind}":{"id":${userId},${stamp}}}`;
  }
}

/** The id of an edit one minute later: the bits above 22 count milliseconds. */
function editOf(id: string): bigint {
  return BigInt(id) + (60_000n << 22n);
}
