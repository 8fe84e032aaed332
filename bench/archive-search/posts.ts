import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { samplePosts } from 'millrace/service';
import type { Month } from './queries.js';

export interface Posts extends Month {
  readonly folder: string;
  readonly files: number;
  readonly posts: number;
  /** The total size of the posts in bytes, without compression. */
  readonly bytes: number;
  readonly gzipBytes: number;
}

const MONTH: Month = { from: Date.UTC(2022, 9, 1), to: Date.UTC(2022, 10, 1) };
const MINUTE = 60_000;
const SEGMENT = 10 * MINUTE;

/**
 * Creates a month of posts in gzip files of ten minutes each, like the files of a job. Every
 * machine gets the same bytes. The files are created once, and are kept outside git.
 */
export async function makePosts(postsPerMinute: number): Promise<Posts> {
  const folder = path.join(process.cwd(), `bench/.cache/month-1-${postsPerMinute}`);
  const manifest = `${folder}.json`;
  try {
    return JSON.parse(await readFile(manifest, 'utf8')) as Posts;
  } catch {
    await rm(folder, { recursive: true, force: true });
  }
  const making = `${folder}.making`;
  await rm(making, { recursive: true, force: true });
  await mkdir(making, { recursive: true });

  let [files, posts, bytes, gzipBytes] = [0, 0, 0, 0];
  let writing = Promise.resolve();
  for (let segment = MONTH.from; segment < MONTH.to; segment += SEGMENT) {
    const lines: Buffer[] = [];
    for (let minute = segment; minute < segment + SEGMENT; minute += MINUTE)
      for (const post of samplePosts(minute, { postsPerMinute })) lines.push(post.raw);
    if (lines.length === 0) continue;
    const plain = Buffer.concat(lines.flatMap(line => [line, Buffer.from('\n')]));
    // While this file is compressed, the posts of the next file are generated.
    await writing;
    writing = promisify(gzip)(plain).then(packed => {
      gzipBytes += packed.length;
      const name = new Date(segment).toISOString().slice(0, 16).replace(/\D/g, '');
      return writeFile(path.join(making, `${name}.json.gz`), packed);
    });
    files++;
    posts += lines.length;
    bytes += plain.length;
  }
  await writing;
  await rename(making, folder);
  const made: Posts = { folder, files, posts, bytes, gzipBytes, ...MONTH };
  await writeFile(manifest, JSON.stringify(made));
  return made;
}
