import { createCipheriv, createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Activity } from '../../../src/post/activity.js';
import type { ArchivedPost } from '../../../src/service/archive/archive.js';
import { samplePosts } from '../../../src/service/index.js';
import { MemoryArchive } from '../../service/memory-archive.js';
import { post } from '../../sinks/posts.js';
import { idAt, WINDOWS } from './windows.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** The user who signs in. Engagement totals cover only this author's posts. */
export const OWNER = { id: '7', handle: 'ann', name: 'Ann' };
const OTHER_AUTHOR = '8';
/** The author of posts that are stored in job files but are no longer in the archive. */
const DELETED_AUTHOR = '9';

let made: readonly ArchivedPost[] | undefined;

/**
 * The posts are cached next to the compiled script, because generating them takes longer than most
 * trials. Each build recreates this folder, so the cache is never outdated.
 */
const KEPT = path.join(import.meta.dirname, 'archive.jsonl');

function keptPosts(): readonly ArchivedPost[] {
  if (!existsSync(KEPT)) {
    const written = `${KEPT}.${process.pid}`;
    writeFileSync(
      written,
      makePosts()
        .map(({ activity }) => `${activity.raw}\n`)
        .join(''),
    );
    renameSync(written, KEPT);
  }
  const lines = readFileSync(KEPT, 'utf8').trimEnd().split('\n');
  return lines.map(line => archived(new Activity(Buffer.from(line))));
}

function archived(activity: Activity): ArchivedPost {
  return { at: activity.postedAt.getTime(), id: activity.id, activity };
}

const makePosts = (): readonly ArchivedPost[] => [
  ...posts(WINDOWS.search, 2 * HOUR, 1),
  ...posts(WINDOWS.counts, 30 * HOUR, 1),
  ...posts(WINDOWS.replay, MINUTE, 4),
  ...posts(WINDOWS.job, 10 * MINUTE, 10),
  ...posts(WINDOWS.engagement, 10 * MINUTE, 10).map(withAuthor),
];

/**
 * Generates posts that match the query, up to `each` posts within each `every` milliseconds. They
 * have realistic content and 64-bit ids.
 */
function posts(
  { from, to }: { readonly from: number; readonly to: number },
  every: number,
  each: number,
): ArchivedPost[] {
  const found: ArchivedPost[] = [];
  for (let start = from; start < to; start += every) {
    let count = 0;
    for (let minute = start; minute < Math.min(start + every, to) && count < each; minute += MINUTE)
      for (const activity of samplePosts(minute, { seed: 'faults', postsPerMinute: 60 })) {
        // If a deleted post is nested in another post, that post changes too. Therefore, posts with
        // a nested post are skipped.
        const isAlone = !activity.raw.includes('"quoted_status"');
        if (!isAlone || !/\bcoffee\b/i.test(activity.text) || count >= each) continue;
        found.push(archived(activity));
        count++;
      }
  }
  return found;
}

function withAuthor({ activity }: ArchivedPost, index: number): ArchivedPost {
  const author = { 3: OTHER_AUTHOR, 6: DELETED_AUTHOR }[index % 10] ?? OWNER.id;
  const raw = activity.raw
    .toString()
    .replace(/"user":\{"id":\d+,"id_str":"\d+"/, `"user":{"id":${author},"id_str":"${author}"`);
  return archived(new Activity(Buffer.from(raw)));
}

export function engagementPosts(): readonly ArchivedPost[] {
  made ??= keptPosts();
  const { from, to } = WINDOWS.engagement;
  return made.filter(({ at }) => at >= from && at < to);
}

let archivedPosts: readonly ArchivedPost[] | undefined;

export function newArchive({ repeats = false, large = false } = {}): MemoryArchive {
  made ??= keptPosts();
  archivedPosts ??= made.filter(({ activity }) => activity.author.id !== DELETED_AUTHOR);
  if (large) {
    enlarged ??= archivedPosts.flatMap(enlarge);
    return new LargeArchive(enlarged);
  }
  return repeats ? new RepeatingArchive(archivedPosts) : new MemoryArchive(archivedPosts);
}

export function plainArchive(): MemoryArchive {
  const posts = [
    ...plainPosts(WINDOWS.search, 2 * HOUR),
    ...plainPosts(WINDOWS.job, MINUTE),
    ...plainPosts(WINDOWS.replay, MINUTE),
  ];
  return new MemoryArchive(posts);
}

function plainPosts(
  { from, to }: { readonly from: number; readonly to: number },
  everyMs: number,
): ArchivedPost[] {
  const found: ArchivedPost[] = [];
  for (let at = from; at < to; at += everyMs) {
    const text = `coffee ${'and cake '.repeat(found.length % 40)}`;
    found.push(archived(post({ id: idAt(at), at, text, lang: 'en', author: 'ann' })));
  }
  return found;
}

let enlarged: readonly ArchivedPost[] | undefined;

/**
 * The number of copies of each post and the size of a copy in bytes. With these values, each
 * pipeline reads about 40 MiB in many pages, and a job reads 80 MiB.
 */
const LARGE = {
  search: { copies: 4, bytes: 170_000 },
  replay: { copies: 4, bytes: 250_000 },
  job: { copies: 2, bytes: 350_000 },
};

/** Adds a member of random text to each post, which gzip reduces by only a quarter. */
function enlarge({ at, id, activity }: ArchivedPost): ArchivedPost[] {
  const large = Object.entries(LARGE).find(([name]) => {
    const { from, to } = WINDOWS[name as keyof typeof LARGE];
    return at >= from && at < to;
  })?.[1];
  if (large === undefined) return [{ at, id, activity }];
  return Array.from({ length: large.copies }, (_, index) => {
    const copy = String(BigInt(id) + BigInt(index));
    const raw = activity.raw.toString().replaceAll(id, copy).slice(0, -1);
    const padding = randomText(copy, large.bytes);
    const larger = new Activity(Buffer.from(`${raw},"padding":"${padding}"}`));
    return { at, id: copy, activity: larger };
  });
}

/** An archive in which all posts match every query, because parsing large posts takes long. */
class LargeArchive extends MemoryArchive {
  override matches(...[, window]: Parameters<MemoryArchive['matches']>): ArchivedPost[] {
    return super.matches({ matches: () => true }, window);
  }
}

class RepeatingArchive extends MemoryArchive {
  override async *scan(
    ...args: Parameters<MemoryArchive['scan']>
  ): ReturnType<MemoryArchive['scan']> {
    for await (const { segment, posts } of super.scan(...args))
      yield {
        segment,
        posts: posts.flatMap((post, index) => (index % 3 === 0 ? [post, post] : [post])),
      };
  }
}

/** Returns text of this many bytes that depends only on the seed. Gzip reduces it by a quarter. */
export function randomText(seed: string, bytes: number): string {
  const key = createHash('sha256').update(seed).digest();
  const cipher = createCipheriv('aes-256-ctr', key, Buffer.alloc(16));
  return cipher.update(Buffer.alloc((bytes * 3) / 4)).toString('base64');
}
