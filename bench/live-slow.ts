import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { messageOf, start, stop } from './children.js';
import { storedCorpus } from './corpus.js';
import type { Slow } from './live/slow.js';
import { liveServer } from './live.js';
import type { Bar, Study } from './question.js';

/** The rate of the slow consumer, which is one hundredth of the stream's rate. */
const POSTS_PER_SECOND = 500;
const TIMES = [1, 4, 16] as const;

export const liveSlow: Study = {
  name: 'live-slow',
  title: 'Live stream: memory with a consumer a hundred times slower than the stream',
  async run({ quick }) {
    const corpus = await storedCorpus({ files: 24 });
    const seconds = quick ? 2 : 10;
    const rows: string[] = [];
    const bars: Bar[] = [];
    for (const times of quick ? TIMES.slice(0, 1) : TIMES) {
      const server = await liveServer({ files: corpus.files, times });
      const folder = await mkdtemp(path.join(os.tmpdir(), 'millrace-bench-'));
      const client = start('live/slow.js', server.address, folder, POSTS_PER_SECOND, seconds);
      const { posts, peakMegabytes } = await messageOf<Slow>(client);
      await stop(client);
      await server.close();
      await rm(folder, { recursive: true, force: true });
      const size = `${(server.bytes / 1e6).toFixed(0)} MB`;
      const cells = [size, server.posts, posts].map(value => value.toLocaleString('en'));
      rows.push(`| ${[...cells, peakMegabytes.toFixed(0)].join(' | ')} |`);
      bars.push({ name: `a stream of ${size}`, kind: 'ours', values: [peakMegabytes] });
    }
    const markdown = [
      `A consumer that takes ${POSTS_PER_SECOND} posts a second, for ${seconds} seconds. All of the stream has come ` +
        'by then: what it has not taken waits on disk.',
      '',
      '| stream | posts | taken | peak MiB |',
      '|---:|---:|---:|---:|',
      ...rows,
      '',
    ].join('\n');
    const { name, title } = liveSlow;
    return { markdown, charts: [{ name, title, unit: 'peak MiB', better: 'less', bars }] };
  },
};
