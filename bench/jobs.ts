import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { storedCorpus } from './corpus.js';
import type { Question } from './question.js';
import { idsByTag } from './stored-files.js';

/**
 * How long the server waits before it starts its response for a file, in milliseconds. Remote
 * storage has a similar latency.
 */
const LATENCY_MS = 20;

export const jobs: Question = {
  name: 'jobs',
  title: 'Job files: download, check, gunzip, frame, take the id',
  async prepare({ quick }) {
    const { corpus, address, close } = await servedJob(quick);
    return {
      files: [address],
      bytes: corpus.bytes,
      posts: corpus.posts,
      note:
        `${corpus.files.length} files of a server in a process of its own, which begins to answer ` +
        `after ${LATENCY_MS} ms; ${corpus.posts.toLocaleString('en')} posts, ` +
        `${(corpus.bytes / 1e6).toFixed(0)} MB of JSON in ${(corpus.gzipBytes / 1e6).toFixed(0)} MB of gzip. ` +
        'Ours hands a file on once it is known to be whole.',
      close,
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

/**
 * Downloads the files of the job that `jobs` measures, and writes posts to files by tag. The bound
 * that no implementation can beat comes from the benchmark `stored-files`.
 */
export const jobsToFiles: Question = {
  name: 'jobs-to-files',
  folder: 'jobs',
  title: 'Job files to files: download, check, gunzip, frame, dedupe, route by tag, write',
  async prepare({ quick }) {
    const { corpus, address, close } = await servedJob(quick);
    return {
      files: [address, ...corpus.files],
      bytes: corpus.bytes,
      posts: corpus.posts,
      note: `The files of \`jobs\`, ${LATENCY_MS} ms each; 6 are downloaded at the same time, the default. The bound reads them from the disk.`,
      close,
    };
  },
  variants: [
    { name: 'millrace', module: 'to-files' },
    { name: 'millrace, without worker threads', module: 'to-files-main', ours: true },
    { name: 'gunzip and write all, two threads', module: 'limit', limit: true },
  ],
  digest: idsByTag,
};

async function servedJob(quick: boolean) {
  const corpus = await storedCorpus({ files: quick ? 24 : 144 });
  const server = fork(path.join(import.meta.dirname, 'jobs/server.js'));
  server.send({ files: corpus.files, posts: corpus.posts, latencyMs: LATENCY_MS });
  const [address] = (await once(server, 'message')) as [string];
  const close = async () => {
    server.kill();
    await once(server, 'exit');
  };
  return { corpus, address, close };
}
