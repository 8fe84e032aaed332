import fc from 'fast-check';
import { FIRST_POST, MINUTE } from '../../../src/base/time.js';
import type { Activity } from '../../../src/post/activity.js';
import type { ActivityStreamsPost } from '../../../src/post/activity-streams-post.js';
import type { OriginalPost } from '../../../src/post/original-post.js';

export const original = (post: Activity) => post.post as OriginalPost;

export const streams = (post: Activity) => post.post as ActivityStreamsPost;

export const minute = fc
  .integer({ min: FIRST_POST / MINUTE, max: Date.UTC(2030, 0, 1) / MINUTE })
  .map(number => number * MINUTE);

export const options = fc.record({
  seed: fc.oneof(fc.string(), fc.integer()),
  postsPerMinute: fc.constantFrom(1, 3.5, 40),
});
