import { createReadStream } from 'node:fs';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import split2 from 'split2';
import type { Work } from '../question.js';
import { type Post, TagFiles } from './tag-files.js';

export async function run({ files, out }: Work): Promise<void> {
  const tagFiles = new TagFiles(out);
  for (const file of files)
    await pipeline(
      createReadStream(file),
      createGunzip(),
      split2(line => (line === '' ? undefined : JSON.parse(line))),
      new Writable({
        objectMode: true,
        write(post: Post, _, done) {
          tagFiles.write(post, JSON.stringify(post)).then(() => done(), done);
        },
      }),
    );
  await tagFiles.end();
}
