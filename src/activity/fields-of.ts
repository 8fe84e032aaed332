import type { Activity } from './activity.js';
import { ActivityStreamsFields } from './activity-streams-fields.js';
import type { ActivityStreamsPost } from './activity-streams-post.js';
import { OriginalFields } from './original-fields.js';
import type { OriginalPost } from './original-post.js';
import type { PostFields } from './post-fields.js';

/** The fields that rules test and tables show, for a post of either format. */
export function fieldsOf(activity: Activity): PostFields {
  const { post } = activity;
  return 'created_at' in post
    ? new OriginalFields(post as OriginalPost)
    : new ActivityStreamsFields(post as ActivityStreamsPost);
}
