import type { Activity } from './activity.js';
import { activityStreamsFields } from './activity-streams-fields.js';
import type { ActivityStreamsPost } from './activity-streams-post.js';
import { originalFields } from './original-fields.js';
import type { OriginalPost } from './original-post.js';
import type { PostFields } from './post-fields.js';

/** The fields that rules test and tables show, for a post of either format. */
export function fieldsOf({ post }: Pick<Activity, 'post'>): PostFields {
  // Not `in`: the members of a `SpannedPost` are getters.
  return (post as Partial<OriginalPost>).created_at !== undefined
    ? originalFields(post as OriginalPost)
    : activityStreamsFields(post as ActivityStreamsPost);
}
