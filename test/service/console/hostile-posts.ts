import { floorTo, MINUTE, SECOND } from '../../../src/base/time.js';
import { Activity } from '../../../src/post/activity.js';
import type { ArchivedPost } from '../../../src/service/archive/archive.js';
import { NOW } from '../local-service.js';

export const EVIL_NAME = `</p><script>alert("name")</script>"'><img src=x onerror=alert(1)>\u202E`;

export function hostilePosts(now = NOW): ArchivedPost[] {
  const ann = { id: '7', handle: 'ann', name: 'Ann' };
  const mallory = { id: '8', handle: 'mallory', name: EVIL_NAME };
  return [
    postOf(ann, now - 30 * MINUTE),
    postOf(ann, now - 29 * MINUTE),
    postOf(mallory, now - 28 * MINUTE),
  ];
}

/** The time at which time-based ids start. */
const EPOCH = 1_288_834_974_657;

function postOf(
  author: { readonly id: string; readonly handle: string; readonly name: string },
  exactly: number,
): ArchivedPost {
  const at = floorTo(SECOND, exactly);
  const id = String(BigInt(at - EPOCH) << 22n);
  const createdAt = new Date(at)
    .toUTCString()
    .replace(/(\w+), (\d+) (\w+) (\d+) (.*) GMT/, '$1 $3 $2 $5 +0000 $4');
  const raw = JSON.stringify({
    created_at: createdAt,
    id_str: id,
    text: 'tea',
    user: { id_str: author.id, screen_name: author.handle, name: author.name },
    entities: { hashtags: [], urls: [], user_mentions: [], symbols: [] },
    lang: 'en',
    favorite_count: 3,
    retweet_count: 2,
  });
  return { at, id, activity: new Activity(Buffer.from(raw)) };
}
