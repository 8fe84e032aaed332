import { createReadStream } from 'node:fs';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import split2 from 'split2';
import type { Work } from '../question.js';
import { FOLLOWERS, tell } from './kept.js';

interface Post {
  readonly id_str: string;
  readonly user: { readonly followers_count: number };
}

export async function run(work: Work): Promise<void> {
  const ids: string[] = [];
  for (const file of work.files)
    await pipeline(
      createReadStream(file),
      createGunzip(),
      split2(line => (line === '' ? undefined : JSON.parse(line))),
      new Writable({
        objectMode: true,
        write(post: Post, _, done) {
          if (post.user.followers_count > FOLLOWERS) ids.push(post.id_str);
          done();
        },
      }),
    );
  await tell(work, ids);
}
