import fc from 'fast-check';
import type { Activity } from '../../../src/activity/activity.js';
import type { ActivityStreamsPost } from '../../../src/activity/activity-streams-post.js';
import type { OriginalPost } from '../../../src/activity/original-post.js';
import { FIRST_POST, MINUTE } from '../../../src/time.js';

export const original = (post: Activity) => post.post as OriginalPost;

export const streams = (post: Activity) => post.post as ActivityStreamsPost;

export const minute = fc
  .integer({ min: FIRST_POST / MINUTE, max: Date.UTC(2030, 0, 1) / MINUTE })
  .map(number => number * MINUTE);

export const options = fc.record({
  seed: fc.oneof(fc.string(), fc.integer()),
  postsPerMinute: fc.constantFrom(1, 3.5, 40),
});
