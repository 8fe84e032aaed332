import { createReadStream, createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import split2 from 'split2';
import type { Work } from '../question.js';
import type { Ids } from '../stored-deleted.js';

interface Post {
  readonly id_str: string;
  readonly user: { readonly id_str: string };
  readonly retweeted_status?: Post;
  readonly edit_history?: { readonly edit_tweet_ids: readonly string[] };
}

/** Keeps the ids of deleted posts and users in memory. Does not check quoted posts. */
export async function run({ files: [folder = '', ...stored], out }: Work): Promise<void> {
  const ids = JSON.parse(await readFile(path.join(folder, 'ids.json'), 'utf8')) as Ids;
  const [posts, users] = [new Set(ids.posts), new Set(ids.users)];
  const isHidden = ({ id_str, user, retweeted_status, edit_history }: Post): boolean =>
    posts.has(id_str) ||
    users.has(user.id_str) ||
    edit_history?.edit_tweet_ids.some(id => posts.has(id)) === true ||
    (retweeted_status !== undefined && isHidden(retweeted_status));
  await pipeline(
    async function* () {
      for (const file of stored)
        for await (const line of createReadStream(file).pipe(createGunzip()).pipe(split2()))
          if (!isHidden(JSON.parse(line) as Post)) yield `${line}\n`;
    },
    createGzip(),
    createWriteStream(path.join(out, 'left.jsonl.gz')),
  );
}
