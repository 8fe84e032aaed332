import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Activity, Format } from 'millrace';
import { samplePosts } from 'millrace/service';
import { workload } from './rules/workload.js';
import { SecondCorpus } from './second-corpus.js';
import { UnicodeCorpus } from './unicode-corpus.js';

export interface Corpus {
  readonly files: readonly string[];
  readonly posts: number;
  readonly duplicates: number;
  /** The total size of the posts in bytes, without compression. */
  readonly bytes: number;
  readonly gzipBytes: number;
}

export interface NamedCorpus {
  readonly name: string;
  readonly about: string;
  readonly format: Format;
  make(options: { files: number }): Promise<Corpus>;
}

const TAGS = ['coffee', 'rain', 'football', 'elections', 'music'] as const;
const POSTS_PER_MINUTE = 111;
const START = Date.UTC(2022, 9, 3, 6);
const MINUTES_A_FILE = 10;

/**
 * Creates realistic posts in gzip files of ten minutes each, like the files of a job. Every machine
 * gets the same bytes. The files are created once, and are kept outside git. Two percent of the
 * posts occur twice; the second occurrence is up to a few thousand posts after the first.
 */
export function storedCorpus({ files }: { files: number }): Promise<Corpus> {
  const posts: MakePosts = (minute, random) =>
    Array.from(samplePosts(minute, { postsPerMinute: POSTS_PER_MINUTE }), post =>
      tagged(post, random()),
    );
  return corpusOf('corpus-1', files, posts);
}

/**
 * Creates files of the same size as `storedCorpus`, with posts from `SecondCorpus` and with as many
 * duplicates.
 */
export function secondCorpus({ files }: { files: number }): Promise<Corpus> {
  const source = new SecondCorpus(7);
  const posts: MakePosts = minute =>
    Array.from({ length: POSTS_PER_MINUTE }, (_, index) => source.line(minute + index * 500));
  return corpusOf('corpus-2', files, posts);
}

function unicodeCorpus({ files }: { files: number }): Promise<Corpus> {
  const source = new UnicodeCorpus(11);
  const posts: MakePosts = (minute, random) =>
    Array.from(samplePosts(minute, { seed: 'unicode', postsPerMinute: POSTS_PER_MINUTE }), post =>
      source.line(tagged(post, random())),
    );
  return corpusOf('corpus-unicode', files, posts);
}

function activityStreamsCorpus({ files }: { files: number }): Promise<Corpus> {
  const options = { format: 'activity_streams', postsPerMinute: POSTS_PER_MINUTE } as const;
  const posts: MakePosts = (minute, random) =>
    Array.from(samplePosts(minute, options), post => tagged(post, random()));
  return corpusOf('corpus-activity-streams', files, posts);
}

/** The code was tuned on the first corpus, so only the other corpora are a fair measure. */
export const CORPORA: readonly NamedCorpus[] = [
  { name: 'first', about: 'posts of the sample archive', format: 'original', make: storedCorpus },
  {
    name: 'second',
    about: 'retweets, several tags, CJK, emoji, escapes',
    format: 'original',
    make: secondCorpus,
  },
  {
    name: 'unicode',
    about: 'Japanese, Chinese, Korean, Arabic, Hindi, emoji, long posts',
    format: 'original',
    make: unicodeCorpus,
  },
  {
    name: 'activity-streams',
    about: 'the `activity_streams` format',
    format: 'activity_streams',
    make: activityStreamsCorpus,
  },
];

/**
 * Creates files of the same size as `storedCorpus`, with the posts of the rule benchmark, which
 * have a large vocabulary.
 */
export function rulesCorpus({ files }: { files: number }): Promise<Corpus> {
  let posts: readonly Buffer[] | undefined;
  let next = 0;
  return corpusOf('corpus-3', files, () => {
    posts ??= workload(files * MINUTES_A_FILE * POSTS_PER_MINUTE).posts;
    next += POSTS_PER_MINUTE;
    return posts.slice(next - POSTS_PER_MINUTE, next);
  });
}

type MakePosts = (minute: number, random: () => number) => Buffer[];

async function corpusOf(name: string, count: number, make: MakePosts): Promise<Corpus> {
  const folder = path.join(process.cwd(), `bench/.cache/${name}-${count}`);
  const manifest = path.join(folder, 'manifest.json');
  try {
    return JSON.parse(await readFile(manifest, 'utf8')) as Corpus;
  } catch {
    await rm(folder, { recursive: true, force: true });
  }
  const making = `${folder}.making`;
  await rm(making, { recursive: true, force: true });
  await mkdir(making, { recursive: true });

  const files: string[] = [];
  let [posts, duplicates, bytes, gzipBytes, salt] = [0, 0, 0, 0, 1];
  const random = () => {
    salt = (Math.imul(salt, 1664525) + 1013904223) >>> 0;
    return salt / 2 ** 32;
  };
  let earlier: Buffer[] = [];
  for (let file = 0; file < count; file++) {
    const lines: Buffer[] = [];
    for (let minute = 0; minute < MINUTES_A_FILE; minute++) {
      const at = START + (file * MINUTES_A_FILE + minute) * 60_000;
      for (const line of make(at, random)) {
        lines.push(line);
        if (random() < 0.02 && earlier.length > 0) {
          lines.push(earlier[Math.floor(random() * earlier.length)] as Buffer);
          duplicates++;
        }
      }
      earlier = [...earlier, ...lines.slice(-POSTS_PER_MINUTE)].slice(-2_000);
    }
    const plain = Buffer.concat(lines.flatMap(line => [line, Buffer.from('\n')]));
    const gzip = gzipSync(plain);
    const name = `${String(file).padStart(4, '0')}.json.gz`;
    await writeFile(path.join(making, name), gzip);
    files.push(path.join(folder, name));
    posts += lines.length;
    bytes += plain.length;
    gzipBytes += gzip.length;
  }
  const corpus: Corpus = { files, posts, duplicates, bytes, gzipBytes };
  await writeFile(path.join(making, 'manifest.json'), JSON.stringify(corpus));
  await rename(making, folder);
  return corpus;
}

/**
 * Adds tags to a post. 20% of the posts get no tag, 10% get two tags, and all others get one tag.
 */
function tagged(post: Activity, roll: number): Buffer {
  const first = TAGS[Math.floor(roll * 1000) % TAGS.length] as string;
  const second = TAGS[(Math.floor(roll * 1000) + 1) % TAGS.length] as string;
  const tags = roll < 0.2 ? [null] : roll < 0.3 ? [first, second] : [first];
  return post.withMatchingRules(
    tags.map((tag, index) => ({ tag, id: String(7_800_000_000_000_000_001n + BigInt(index)) })),
  ).raw;
}
