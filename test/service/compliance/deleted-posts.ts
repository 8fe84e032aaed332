import { DAY, MINUTE } from '../../../src/base/time.js';
import type { ArchivedPost } from '../../../src/service/archive/archive.js';
import type { ServiceOptions } from '../../../src/service/index.js';
import { NOW } from '../local-service.js';
import { originalPost } from '../memory-archive.js';
import { idOf } from '../replay/local-streams.js';

export function deletion(id: string, at = NOW): string {
  return `{"delete":{"status":{"id":${id},"id_str":"${id}","user_id":7,"user_id_str":"7"},"timestamp_ms":"${at}"}}`;
}

export type Event = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export function manyPosts(): ArchivedPost[] {
  return Array.from({ length: 2 * 24 * 60 }, (_, i) => {
    const at = NOW - 2 * DAY + i * MINUTE - 56_789;
    const post = originalPost(at, idOf(i), `tea ${i}`);
    const raw = String(post.activity.raw).replaceAll(/"7"|:7,/g, match =>
      match.replace('7', String(9_007_199_254_740_993n + BigInt(i % 900))),
    );
    const activity = new (Object.getPrototypeOf(post.activity).constructor)(Buffer.from(raw));
    return { ...post, activity };
  });
}

export const settings = (options: ServiceOptions = {}) => ({ complianceRate: 1, ...options });
