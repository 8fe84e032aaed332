/**
 * Edit metadata, the same in both formats, in posts since 29 September 2022. Every edit is a post with
 * its own id.
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
