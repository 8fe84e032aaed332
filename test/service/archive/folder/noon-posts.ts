import { MINUTE } from '../../../../src/base/time.js';
import type { Activity } from '../../../../src/post/activity.js';
import { samplePosts } from '../../../../src/service/sample/sample-posts.js';
import { archiveFolders, print, scanAll } from '../archive-folder.js';

export const folders = archiveFolders();

export const NOON = Date.UTC(2024, 4, 1, 12);

export const posts = (
  from: number,
  minutes: number,
  format: 'original' | 'activity_streams' = 'original',
) =>
  Array.from({ length: minutes }, (_, i) =>
    samplePosts(from + i * MINUTE, { postsPerMinute: 2, format }),
  ).flat();

export const raws = (activities: readonly Activity[]) =>
  activities.map(post => post.raw.toString());

export const prints = (activities: readonly Activity[]) => activities.map(print);

export const served = async (...args: Parameters<typeof folders.open>) =>
  prints((await scanAll(await folders.open(...args))).map(post => post.activity));
