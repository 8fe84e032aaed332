import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createGunzip } from 'node:zlib';
import { type ComplianceEvent, openTombstones } from 'millrace';
import split2 from 'split2';
import { type Corpus, storedCorpus } from './corpus.js';
import { inflatedFile } from './inflated-file.js';
import type { Digest, Question } from './question.js';
import { deletedId } from './tombstones/deletions.js';

/**
 * The number of tombstones for posts that are not in the corpus. In practice, most tombstones are
 * for such posts.
 */
const OTHERS = 1_000_000;
const BATCH = 50_000;

export const storedDeleted: Question = {
  name: 'stored-deleted',
  title: 'Stored files without deleted posts, written as gzip',
  async prepare({ quick }) {
    const corpus = await storedCorpus({ files: quick ? 24 : 144 });
    const { folder, posts, users } = await tombstonesOf(corpus);
    return {
      files: [folder, ...corpus.files],
      bytes: corpus.bytes,
      posts: corpus.posts,
      note:
        `The files of \`stored-files\` as one file of gzip, level 6, without ${posts.toLocaleString('en')} posts and the posts of ` +
        `${users.toLocaleString('en')} users that are deleted; ${OTHERS.toLocaleString('en')} other posts have tombstones, too.`,
    };
  },
  variants: [
    { name: 'millrace', module: 'millrace' },
    { name: 'millrace, without worker threads', module: 'main-thread', ours: true },
    { name: 'split2, JSON.parse, sets of ids in memory', module: 'split2', slow: true },
    { name: 'gunzip and gzip at level 6, two threads', module: 'limit', limit: true },
  ],
  /**
   * Returns a digest of the ids. The rest of the posts is not compared, because the other tool does
   * not change quoted posts.
   */
  async digest(folder): Promise<Digest> {
    const [name = ''] = await readdir(folder);
    const left = createReadStream(path.join(folder, name)).pipe(createGunzip()).pipe(split2());
    const hash = createHash('sha256');
    let bytes = 0;
    for await (const line of left as AsyncIterable<string>) {
      const { id_str } = JSON.parse(line) as { readonly id_str: string };
      hash.update(`${id_str}\n`);
      bytes += id_str.length + 1;
    }
    return { bytes, hash: hash.digest('hex') };
  },
};

/** Creates tombstones for one in 50 posts and one in 200 authors. They are created only once. */
async function tombstonesOf({ files }: Corpus) {
  const folder = path.join(process.cwd(), `bench/.cache/deleted-1-${files.length}`);
  const list = path.join(folder, 'ids.json');
  try {
    await access(list);
  } catch {
    const making = `${folder}.making`;
    await rm(folder, { recursive: true, force: true });
    await rm(making, { recursive: true, force: true });
    await mkdir(making, { recursive: true });
    const ids = idsOf(files);
    await using tombstones = await openTombstones(path.join(making, 'tombstones'));
    for (let n = 0; n < OTHERS; n += BATCH)
      await tombstones.record(
        Array.from({ length: BATCH }, (_, at) => deletion(String(deletedId(n + at, OTHERS)))),
      );
    await tombstones.record(ids.posts.map(deletion));
    await tombstones.record(ids.users.map(userDeletion));
    await writeFile(path.join(making, 'ids.json'), JSON.stringify(ids));
    await tombstones.close();
    await rename(making, folder);
  }
  const { posts, users } = JSON.parse(await readFile(list, 'utf8')) as Ids;
  return { folder, posts: posts.length, users: users.length };
}

export interface Ids {
  readonly posts: readonly string[];
  readonly users: readonly string[];
}

function idsOf(files: readonly string[]): Ids {
  const posts = new Set<string>();
  const users = new Set<string>();
  let count = 0;
  for (const file of files)
    for (const line of inflatedFile(file).toString().trimEnd().split('\n')) {
      const post = JSON.parse(line) as {
        readonly id_str: string;
        readonly user: { readonly id_str: string };
      };
      if (count % 50 === 0) posts.add(post.id_str);
      if (count % 200 === 100) users.add(post.user.id_str);
      count++;
    }
  return { posts: [...posts], users: [...users] };
}

const NOTHING = Buffer.from('{}');

function deletion(postId: string): ComplianceEvent {
  return { kind: 'delete', postId, userId: undefined, at: undefined, raw: NOTHING };
}

function userDeletion(userId: string): ComplianceEvent {
  return { kind: 'user_delete', userId, at: undefined, raw: NOTHING };
}
