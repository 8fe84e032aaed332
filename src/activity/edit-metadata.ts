/**
 * Edit metadata as delivered, the same in both formats, for posts from 29 September 2022 on. Every edit is
 * a post with another id.
 */
export interface EditHistory {
  readonly initial_tweet_id: string;
  /** Ascending; always at least one. */
  readonly edit_tweet_ids: readonly string[];
}

export interface EditControls {
  /** Epoch milliseconds; thirty minutes after the first of the edits. */
  readonly editable_until_ms: number;
  /** At most five. */
  readonly edits_remaining: number;
}
