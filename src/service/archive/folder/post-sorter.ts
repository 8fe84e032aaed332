import { floorTo, MINUTE } from '../../../base/time.js';
import { SpoolFile } from '../../../storage/spool-file.js';
import { firstWhere } from '../block-archive.js';
import type { IndexedPost } from './read-post.js';

export interface SortedPost extends Omit<IndexedPost, 'terms'> {
  /** The index of the post's file in the list of files. */
  readonly file: number;
  /** The terms as JSON. They are parsed for one post at a time, to save memory. */
  readonly terms: Buffer;
}

const RUN_BYTES = 24 * 1024 * 1024;

/** A run: a part of the temporary file, in which posts are sorted by minute. */
interface SortedRun {
  readonly minutes: Float64Array;
  /**
   * For each of `minutes`, the byte position of its first post in the temporary file. The last element is the
   * position at which the run ends.
   */
  readonly starts: Float64Array;
}

/**
 * Sorts posts by minute in bounded memory. Collects about `runBytes` of posts in memory, sorts them, and
 * appends them to a temporary file as one run. `read` returns the posts of a range of minutes from all runs.
 */
export class PostSorter {
  readonly #file: SpoolFile;
  readonly #runBytes: number;
  readonly #runs: SortedRun[] = [];
  #written = 0;
  #posts: { readonly minute: number; readonly bytes: Buffer }[] = [];
  #size = 0;
  /** The number of posts of each minute. */
  readonly counts = new Map<number, number>();

  private constructor(file: SpoolFile, runBytes: number) {
    this.#file = file;
    this.#runBytes = runBytes;
  }

  static async create(folder: string, runBytes = RUN_BYTES): Promise<PostSorter> {
    return new PostSorter(await SpoolFile.open('posts to sort', folder), runBytes);
  }

  /** @param file The index of the file that contains the post, among the files of the archive folder. */
  async add({ terms, ...post }: IndexedPost, file: number): Promise<void> {
    const head = JSON.stringify({ ...post, file });
    const bytes = Buffer.from(`${head}\n${JSON.stringify(terms)}\n`);
    if (this.#size + bytes.length > this.#runBytes) await this.finish();
    const minute = floorTo(MINUTE, post.at);
    this.#posts.push({ minute, bytes });
    this.#size += bytes.length;
    this.counts.set(minute, (this.counts.get(minute) ?? 0) + 1);
  }

  /** Writes the posts that were added since the last call as a new sorted run. Call it before `read`. */
  async finish(): Promise<void> {
    // The sort is stable: posts of the same minute keep the order in which they were added.
    const posts = this.#posts.sort((a, b) => a.minute - b.minute);
    if (posts.length === 0) return;
    const minutes: number[] = [];
    const starts: number[] = [];
    let end = this.#written;
    for (const { minute, bytes } of posts) {
      if (minutes.at(-1) !== minute) {
        minutes.push(minute);
        starts.push(end);
      }
      end += bytes.length;
    }
    await this.#file.write([Buffer.concat(posts.map(({ bytes }) => bytes))]);
    this.#runs.push({
      minutes: Float64Array.from(minutes),
      starts: Float64Array.from([...starts, end]),
    });
    this.#written = end;
    this.#posts = [];
    this.#size = 0;
  }

  /** Returns the posts from one minute (inclusive) to another (exclusive). They may be in any order. */
  async read(from: number, to: number): Promise<readonly SortedPost[]> {
    const posts: SortedPost[] = [];
    for (const { minutes, starts } of this.#runs) {
      const [start, end] = [from, to].map(minute => {
        const index = firstWhere(minutes.length, i => (minutes[i] as number) >= minute);
        return starts[index] as number;
      }) as [number, number];
      if (start === end) continue;
      for (const post of readPosts(await this.#file.read(start, end - start))) posts.push(post);
    }
    return posts;
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

function* readPosts(bytes: Buffer): Generator<SortedPost> {
  for (let at = 0; at < bytes.length; ) {
    const middle = bytes.indexOf('\n', at);
    const end = bytes.indexOf('\n', middle + 1);
    const head = JSON.parse(bytes.toString('utf8', at, middle));
    yield { ...head, terms: bytes.subarray(middle + 1, end) };
    at = end + 1;
  }
}
