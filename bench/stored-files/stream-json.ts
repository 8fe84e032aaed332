import { createReadStream } from 'node:fs';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import jsonlParser from 'stream-json-3/jsonl/parser.js';
import type { Work } from '../question.js';
import { type Post, TagFiles } from './tag-files.js';

export async function run({ files, out }: Work): Promise<void> {
  const tagFiles = new TagFiles(out);
  for (const file of files)
    await pipeline(
      createReadStream(file),
      createGunzip(),
      jsonlParser.asStream(),
      new Writable({
        objectMode: true,
        write({ value }: { value: Post }, _, done) {
          tagFiles.write(value, JSON.stringify(value)).then(() => done(), done);
        },
      }),
    );
  await tagFiles.end();
}
