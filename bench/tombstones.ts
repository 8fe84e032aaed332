import { execFile } from 'node:child_process';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Study } from './question.js';

const run = promisify(execFile);

interface Filled {
  readonly seconds: number;
  readonly peak: number;
  readonly size: number;
}

interface LookedUp {
  readonly perSecond: number;
  readonly missed: number;
  readonly invented: number;
  readonly peak: number;
}

export const tombstones: Study = {
  name: 'tombstones',
  title: 'Tombstones: recording deleted posts, and looking posts up',
  async run({ quick }) {
    const sizes = quick ? [100_000, 1_000_000] : [1_000_000, 10_000_000, 100_000_000];
    const rows: string[] = [];
    for (const size of sizes) rows.push(await measureSize(size));
    return {
      markdown: [
        'Batches of 50,000 deletions, each durable before the next. Four of five posts are of the last hour,',
        'every fifth of any time in five years. Memory is without the pages of the mapped file, which the',
        'system takes back when it needs them. Every look-up is of another process; half are of posts that stay.',
        '',
        '| posts | recorded/s | MiB, recording | GB on disk | look-ups/s | MiB, looking up |',
        '| ---: | ---: | ---: | ---: | ---: | ---: |',
        ...rows,
        '',
      ].join('\n'),
      charts: [],
    };
  },
};

async function measureSize(count: number): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'millrace-bench-'));
  try {
    const filled = await child<Filled>('fill', folder, count);
    if (filled.size !== count)
      throw new Error(`Recorded ${count} posts, but there are ${filled.size}`);
    const lookedUp = await child<LookedUp>('look-up', folder, count, count);
    if (lookedUp.missed + lookedUp.invented > 0)
      throw new Error(`${lookedUp.missed} posts not found, ${lookedUp.invented} made up`);
    const { size: bytes } = await stat(path.join(folder, 'data.mdb'));
    const cells = [
      count.toLocaleString('en'),
      Math.round(count / filled.seconds).toLocaleString('en'),
      filled.peak.toFixed(0),
      (bytes / 1e9).toFixed(2),
      Math.round(lookedUp.perSecond).toLocaleString('en'),
      lookedUp.peak.toFixed(0),
    ];
    return `| ${cells.join(' | ')} |`;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function child<T>(script: string, ...args: readonly (string | number)[]): Promise<T> {
  const file = path.join(import.meta.dirname, 'tombstones', `${script}.js`);
  const { stdout } = await run(process.execPath, [file, ...args.map(String)]);
  return JSON.parse(stdout) as T;
}
