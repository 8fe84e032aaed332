import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pipeline } from '../../src/flow/pipeline.js';
import { account } from '../../src/http/account.js';
import { search } from '../../src/search/search.js';
import { createService, type Service } from '../../src/service/index.js';
import { collect } from '../../src/sinks/collect.js';
import { DAY, formatTimestamp, HOUR } from '../../src/time.js';
import { spawn } from '../child-processes.js';

const KILLS = process.env.MILLRACE_SLOW === undefined ? 5 : 200;
const SCRIPT = path.join(import.meta.dirname, 'search-to-files.ts');
const QUERY = { product: '30day', query: 'coffee OR music', maxResults: 10, limit: 400 } as const;

let service: Service;
let options: Awaited<ReturnType<Service['start']>>;

beforeAll(async () => {
  service = createService({ limits: 'relaxed', duplicatesAtPageEdges: true });
  options = await service.start();
});

afterAll(() => service.stop());

/** Runs the script; kills it `afterMs` after it has started unless it has ended by then. */
async function run(out: string, window: object, afterMs: number): Promise<'killed' | 'done'> {
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', SCRIPT, out, JSON.stringify(options), JSON.stringify(window)],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', text => {
    errors += text;
  });
  const closed = new Promise<number | null>(resolve => child.on('close', resolve));
  child.stdout.once('data', () => {
    sleep(afterMs).then(() => child.kill('SIGKILL'));
  });
  const code = await closed;
  if (child.signalCode === 'SIGKILL') return 'killed';
  if (code !== 0) throw new Error(`The script ended with ${code}:\n${errors}`);
  return 'done';
}

async function linesOf(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter(name => name !== 'checkpoint.json');
  expect(names.filter(name => !name.endsWith('.jsonl'))).toEqual([]);
  const texts = await Promise.all(names.map(name => readFile(path.join(folder, name), 'utf8')));
  return texts.flatMap(text => {
    expect(text.endsWith('\n')).toBe(true);
    return text.slice(0, -1).split('\n');
  });
}

describe('a search with a checkpoint', () => {
  it(
    'delivers every post exactly once, however often and whenever it is killed',
    async () => {
      const now = service.clock.now();
      const window = {
        ...QUERY,
        fromDate: formatTimestamp(now - 9 * DAY),
        toDate: formatTimestamp(now - HOUR),
      };
      const posts = await pipeline(search(account(options), window), collect());
      const expected = [...new Map(posts.map(post => [post.id, post.raw.toString()])).values()];

      let kills = 0;
      let finished = 0;
      while (kills < KILLS) {
        const out = await mkdtemp(path.join(os.tmpdir(), 'millrace-kill-'));
        try {
          // Each run of a series is killed later than the one before, so that every series ends.
          for (let wait = 20; ; wait *= 1.5) {
            const end = await run(out, window, Math.random() * wait);
            if (end === 'done') break;
            kills++;
          }
          finished++;
          const lines = await linesOf(out);
          expect(lines.length).toBe(expected.length);
          expect(lines.toSorted()).toEqual(expected.toSorted());
        } finally {
          await rm(out, { recursive: true, force: true });
        }
      }
      expect(finished).toBeGreaterThan(0);
    },
    process.env.MILLRACE_SLOW === undefined ? 60_000 : 900_000,
  );
});
