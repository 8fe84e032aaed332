import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { storedCorpus } from './corpus.js';
import type { Digest, Question } from './question.js';

export const parsedPath: Question = {
  name: 'parsed-path',
  title: 'Stored files: gunzip, frame, a filter on fields of the post',
  async prepare({ quick }) {
    const corpus = await storedCorpus({ files: quick ? 24 : 144 });
    return {
      files: corpus.files,
      bytes: corpus.bytes,
      posts: corpus.posts,
      note:
        `${corpus.files.length} gzip files, ${corpus.posts.toLocaleString('en')} posts, ${(corpus.bytes / 1e6).toFixed(0)} MB of JSON. ` +
        'The filter asks for `user.followers_count`, which only the parsed post has; `from the bytes` asks every ' +
        'post for its id, time, language, author and matching rules instead. The limit parses and keeps nothing: ' +
        'no exact ids, no filter.',
    };
  },
  variants: [
    { name: 'millrace, filter on the parsed post', module: 'parsed' },
    { name: 'millrace, five fields from the bytes', module: 'scanned', ours: true },
    { name: 'split2 with JSON.parse', module: 'split2' },
    { name: 'gunzip, split, JSON.parse, nothing else', module: 'limit', limit: true },
  ],
  async digest(folder): Promise<Digest> {
    return JSON.parse(await readFile(path.join(folder, 'kept.json'), 'utf8'));
  },
};
