import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import Database from 'libsql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pipeline } from '../../src/flow/pipeline.js';
import { account } from '../../src/http/account.js';
import { search } from '../../src/search/search.js';
import { environmentOf } from '../../src/service/environment.js';
import { createService, type Service } from '../../src/service/index.js';
import { collect } from '../../src/sinks/collect.js';
import { DAY, formatTimestamp, HOUR } from '../../src/time.js';
import { spawn } from '../child-processes.js';

const KILLS = process.env.MILLRACE_SLOW === undefined ? 3 : 100;
const root = path.resolve(import.meta.dirname, '../..');
const EXAMPLE = path.join(root, 'examples/15-into-sqlite.ts');
const TSX = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;

let service: Service;
let addresses: Awaited<ReturnType<Service['start']>>;
beforeAll(async () => {
  service = createService({ limits: 'relaxed', duplicatesAtPageEdges: true });
  addresses = await service.start();
});
afterAll(() => service.stop());

/** Runs the example in a folder; kills it `afterMs` after its database exists unless it has ended by then. */
async function run(cwd: string, window: readonly string[], afterMs: number) {
  const env = {
    ...process.env,
    ...environmentOf(addresses),
    TSX_TSCONFIG_PATH: path.join(root, 'tsconfig.json'),
  };
  const child = spawn(process.execPath, ['--import', TSX, EXAMPLE, ...window], { cwd, env });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', text => {
    errors += text;
  });
  const closed = new Promise<number | null>(resolve => child.on('close', resolve));
  const ended = closed.then(() => true);
  while (!existsSync(path.join(cwd, 'posts.sqlite')))
    if (await Promise.race([ended, sleep(5, false)])) break;
  await Promise.race([ended, sleep(afterMs)]);
  child.kill('SIGKILL');
  if ((await closed) === 0) return 'done';
  if (child.signalCode !== 'SIGKILL') throw new Error(errors);
  return 'killed';
}

function postsIn(cwd: string): { readonly id: string; readonly text: string }[] {
  const db = new Database(path.join(cwd, 'posts.sqlite'));
  try {
    return db.prepare('SELECT id, text FROM posts ORDER BY rowid').all() as never;
  } finally {
    db.close();
  }
}

describe('posts into SQLite', () => {
  it(
    'are all there, each once and in order, however often and whenever the script is killed',
    async () => {
      const now = service.clock.now();
      const fromDate = formatTimestamp(now - 9 * DAY);
      const toDate = formatTimestamp(now - HOUR);
      const query = { product: '30day', query: 'coffee OR rain', limit: 2_000 } as const;
      const found = await pipeline(
        search(account(addresses), { ...query, maxResults: 100, fromDate, toDate }),
        collect(),
      );
      // The limit counts what the search delivers, with the posts that pages repeat.
      const expected = [...new Map(found.map(({ id, text }) => [id, text]))];
      expect(expected.length).toBeLessThan(found.length);

      let kills = 0;
      while (kills < KILLS) {
        const cwd = await mkdtemp(path.join(os.tmpdir(), 'millrace-kill-'));
        try {
          for (let wait = 40; ; wait *= 1.3) {
            const end = await run(cwd, [fromDate, toDate], Math.random() * wait);
            if (end === 'done') break;
            kills++;
          }
          const posts = postsIn(cwd);
          expect(posts.map(({ id, text }) => [id, text])).toEqual(expected);
        } finally {
          await rm(cwd, { recursive: true, force: true });
        }
      }
    },
    KILLS * 60_000,
  );
});
