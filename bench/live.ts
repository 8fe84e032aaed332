import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { storedCorpus } from './corpus.js';
import type { Question } from './question.js';

/** A live stream → gunzip, frame, take the id. The stream comes from another process. */
export const live: Question = {
  name: 'live',
  title: 'Live stream: gunzip, frame, take the id',
  async prepare({ quick }) {
    const corpus = await storedCorpus({ files: 24 });
    const files = quick ? corpus.files.slice(0, 12) : corpus.files;
    const server = fork(path.join(import.meta.dirname, 'live/server.js'));
    server.send(files);
    const [{ address, posts, bytes, wireBytes }] = (await once(server, 'message')) as [
      { address: string; posts: number; bytes: number; wireBytes: number },
    ];
    return {
      files: [address],
      bytes,
      posts,
      note:
        `A replay of ${posts.toLocaleString('en')} posts, ${(bytes / 1e6).toFixed(0)} MB of JSON in ` +
        `${(wireBytes / 1e6).toFixed(0)} MB of gzip, from a server in a process of its own that flushes ` +
        'after every message: one chunk of HTTP each, heartbeats between. Ours hands posts on once ' +
        'the service has confirmed them, and keeps those that do not fit in 32 MiB on disk until then.',
      close: async () => {
        server.kill();
        await once(server, 'exit');
      },
    };
  },
  variants: [
    { name: 'millrace, replay', module: 'millrace' },
    { name: 'millrace, replay, 256 MiB of memory', module: 'in-memory' },
    { name: 'undici.stream, zlib, split2, JSON.parse', module: 'undici-split2' },
    { name: 'node:http, zlib, split2, JSON.parse', module: 'http-split2' },
  ],
  async digest(folder) {
    return JSON.parse(await readFile(path.join(folder, 'ids.json'), 'utf8'));
  },
};
