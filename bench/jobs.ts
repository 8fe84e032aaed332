import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { storedCorpus } from './corpus.js';
import type { Question } from './question.js';

/** How long the server takes to begin its answer for a file, as a store on the network does. */
const LATENCY_MS = 20;

/** A delivered job → download, check, gunzip, frame, id. The files come from another process. */
export const jobs: Question = {
  name: 'jobs',
  title: 'Job files: download, check, gunzip, frame, take the id',
  async prepare({ quick }) {
    const corpus = await storedCorpus({ files: quick ? 24 : 144 });
    const server = fork(path.join(import.meta.dirname, 'jobs/server.js'));
    server.send({ files: corpus.files, posts: corpus.posts, latencyMs: LATENCY_MS });
    const [address] = (await once(server, 'message')) as [string];
    return {
      files: [address],
      bytes: corpus.bytes,
      posts: corpus.posts,
      note:
        `${corpus.files.length} files of a server in a process of its own, which begins to answer ` +
        `after ${LATENCY_MS} ms; ${corpus.posts.toLocaleString('en')} posts, ` +
        `${(corpus.bytes / 1e6).toFixed(0)} MB of JSON in ${(corpus.gzipBytes / 1e6).toFixed(0)} MB of gzip. ` +
        'Ours hands a file on once it is known to be whole.',
      close: async () => {
        server.kill();
        await once(server, 'exit');
      },
    };
  },
  variants: [
    { name: 'millrace, 4 at once', module: 'four' },
    { name: 'millrace, 1 at once', module: 'one' },
    { name: 'millrace, 8 at once', module: 'eight' },
    { name: 'a plain loop: fetch, gunzipSync, split, JSON.parse', module: 'plain-loop' },
  ],
  async digest(folder) {
    return JSON.parse(await readFile(path.join(folder, 'ids.json'), 'utf8'));
  },
};
