import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { storedCorpus } from './corpus.js';
import type { Served } from './live/server.js';
import type { Question } from './question.js';

export const live: Question = {
  name: 'live',
  title: 'Live stream: gunzip, frame, deliver each post',
  chartNote:
    'The second bar is a part of the first, which also waits for confirmation and stores posts until then',
  async prepare({ quick }) {
    const corpus = await storedCorpus({ files: 24 });
    const { address, posts, bytes, wireBytes, close } = await liveServer({
      files: quick ? corpus.files.slice(0, 3) : corpus.files,
      times: 1,
    });
    const small = await liveServer({ files: corpus.files.slice(0, quick ? 2 : 12), times: 1 });
    return {
      files: [address],
      warmUp: { files: [small.address], posts: small.posts },
      bytes,
      posts,
      note:
        `A replay of ${posts.toLocaleString('en')} posts, ${(bytes / 1e6).toFixed(0)} MB of JSON in ` +
        `${(wireBytes / 1e6).toFixed(0)} MB of gzip, from a server in a process of its own that has made its ` +
        'answer beforehand: every message in a flush and a chunk of HTTP of its own, heartbeats between. No ' +
        'variant parses a post, each has read a smaller stream before, and all gave the same bytes. `replay` delivers each post once, after the service ' +
        'has confirmed its minute, and stores those that do not fit in 32 MiB on disk until then.',
      close: async () => {
        await small.close();
        await close();
      },
    };
  },
  variants: [
    { name: 'millrace, replay', module: 'millrace' },
    { name: 'a part of it: our operators on node:http', module: 'operators', ours: true },
    { name: 'node:http, zlib, split2', module: 'http-split2' },
    { name: 'undici.stream, zlib, split2', module: 'undici-stream' },
    { name: 'undici.request, zlib, split2', module: 'undici-request' },
    { name: 'fetch, split2', module: 'fetch' },
  ],
  async digest(folder) {
    return JSON.parse(await readFile(path.join(folder, 'received.json'), 'utf8'));
  },
};

export async function liveServer(served: Served) {
  const server = fork(path.join(import.meta.dirname, 'live/server.js'));
  server.send(served);
  const [started] = (await once(server, 'message')) as [
    { address: string; posts: number; bytes: number; wireBytes: number },
  ];
  return {
    ...started,
    close: async () => {
      server.kill();
      await once(server, 'exit');
    },
  };
}
