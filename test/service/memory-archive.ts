import { floorTo, SEGMENT, type Window } from '../../src/base/time.js';
import { Activity, type Format } from '../../src/post/activity.js';
import type { Archive, ArchivedPost, ArchiveQuery } from '../../src/service/archive/archive.js';

export class MemoryArchive implements Archive {
  readonly format: Format;
  /** The posts, newest first. */
  readonly posts: readonly ArchivedPost[];
  bucketsUntilTimeout = Number.POSITIVE_INFINITY;
  closed = 0;

  constructor(posts: readonly ArchivedPost[], format: Format = 'original') {
    this.format = format;
    this.posts = posts.toSorted(newestFirst);
  }

  async search(
    rule: ArchiveQuery,
    window: Window,
    { limit, after }: Parameters<Archive['search']>[2],
  ): ReturnType<Archive['search']> {
    const found = this.matches(rule, window).filter(
      post => after === undefined || newestFirst(after, post) < 0,
    );
    return { posts: found.slice(0, limit), more: found.length > limit };
  }

  async counts(
    rule: ArchiveQuery,
    { from, to }: Window,
    bucketMs: number,
    { newestFirst = false, deadlineMs }: Parameters<Archive['counts']>[3] = {},
  ): ReturnType<Archive['counts']> {
    const all: { start: number; count: number }[] = [];
    for (let start = floorTo(bucketMs, from); from < to && start < to; start += bucketMs) {
      const bucket = { from: Math.max(from, start), to: Math.min(to, start + bucketMs) };
      all.push({ start, count: this.matches(rule, bucket).length });
    }
    const left = deadlineMs === undefined ? all.length : this.bucketsUntilTimeout;
    const buckets = newestFirst ? all.slice(Math.max(all.length - left, 0)) : all.slice(0, left);
    const first = Math.max(from, buckets[0]?.start ?? to);
    const end = Math.min(to, (buckets.at(-1)?.start ?? from - bucketMs) + bucketMs);
    return { buckets, counted: newestFirst ? { from: first, to } : { from, to: end } };
  }

  async *scan(
    window: Window,
    { wanted = () => true }: Parameters<Archive['scan']>[1] = {},
  ): ReturnType<Archive['scan']> {
    const segments = new Map<number, ArchivedPost[]>();
    for (const post of this.posts.toReversed()) {
      if (!isWithin(window, post) || !wanted(post)) continue;
      const segment = floorTo(SEGMENT, post.at);
      segments.set(segment, [...(segments.get(segment) ?? []), post]);
    }
    for (const [segment, posts] of segments) yield { segment, posts };
  }

  async close(): Promise<void> {
    this.closed++;
  }

  matches(rule: Pick<ArchiveQuery, 'matches'>, window: Window): ArchivedPost[] {
    return this.posts.filter(post => isWithin(window, post) && rule.matches(post.activity));
  }
}

export function originalPost(at: number, id: string, text: string): ArchivedPost {
  const createdAt = new Date(at)
    .toUTCString()
    .replace(/(\w+), (\d+) (\w+) (\d+) (.*) GMT/, '$1 $3 $2 $5 +0000 $4');
  const raw = `{"created_at":"${createdAt}","id":${id},"id_str":"${id}","text":${JSON.stringify(text)},"user":{"id":7,"id_str":"7","screen_name":"ann","name":"Ann"},"entities":{"hashtags":[],"urls":[],"user_mentions":[],"symbols":[]},"lang":"en"}`;
  return { at, id, activity: new Activity(Buffer.from(raw)) };
}

export function streamsPost(at: number, id: string, text: string): ArchivedPost {
  const body = JSON.stringify(text);
  const raw = `{"id":"tag:search.example.com,2005:${id}","objectType":"activity","verb":"post","postedTime":"${new Date(at).toISOString()}","body":${body},"actor":{"objectType":"person","id":"id:example.com:7","preferredUsername":"ann","displayName":"Ann"},"object":{"objectType":"note","summary":${body}},"twitter_entities":{"hashtags":[],"urls":[],"user_mentions":[],"symbols":[]},"twitter_lang":"en","gnip":{"urls":[]}}`;
  return { at, id, activity: new Activity(Buffer.from(raw)) };
}

function newestFirst(a: { at: number; id: string }, b: { at: number; id: string }): number {
  if (a.at !== b.at) return b.at - a.at;
  const [idA, idB] = [BigInt(a.id), BigInt(b.id)];
  return idA === idB ? 0 : idA < idB ? 1 : -1;
}

function isWithin({ from, to }: Window, { at }: { at: number }): boolean {
  return from <= at && at < to;
}
