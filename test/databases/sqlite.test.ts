import { existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'libsql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DAY, formatTimestamp, HOUR } from '../../src/base/time.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { account } from '../../src/http/account.js';
import { search } from '../../src/search/search.js';
import { environmentOf } from '../../src/service/account-variables.js';
import { createService, type Service } from '../../src/service/index.js';
import { collect } from '../../src/sinks/collect.js';
import { compiled } from '../compiled.js';
import { KilledChild, killUntilDone } from '../killed-child.js';
import { bySuite } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';

const KILLS = bySuite(1, 40);
const EXAMPLE = path.resolve(import.meta.dirname, '../../examples/15-into-sqlite.ts');
let service: Service;
let addresses: Awaited<ReturnType<Service['start']>>;
beforeAll(async () => {
  service = createService({ limits: 'relaxed', duplicatesAtPageEdges: true });
  addresses = await service.start();
});
afterAll(() => service.stop());

function postsIn(cwd: string): { readonly id: string; readonly text: string }[] {
  const db = new Database(path.join(cwd, 'out/posts.sqlite'));
  try {
    return unchecked(db.prepare('SELECT id, text FROM posts ORDER BY rowid').all());
  } finally {
    db.close();
  }
}

describe('posts written to SQLite', () => {
  it('are stored exactly once and in order, however often the script is killed', async () => {
    const now = service.clock.now();
    const fromDate = formatTimestamp(now - 9 * DAY);
    const toDate = formatTimestamp(now - HOUR);
    const query = { product: '30day', query: 'coffee OR rain', limit: 2_000 } as const;
    const found = await pipeline(
      search(account(addresses), { ...query, maxResults: 100, fromDate, toDate }),
      collect(),
    );
    // The limit counts all posts that the search delivers, so duplicates count too.
    const expected = [...new Map(found.map(({ id, text }) => [id, text]))];
    expect(expected.length).toBeLessThan(found.length);

    const env = {
      ...process.env,
      ...environmentOf(addresses),
    };
    for (let kills = 0; kills < KILLS; ) {
      const cwd = await temporaryFolder();
      const runs = await killUntilDone({
        start: () => new KilledChild(compiled(EXAMPLE), [fromDate, toDate], { cwd, env }),
        begun: async child => {
          while (!child.hasEnded && !existsSync(path.join(cwd, 'out/posts.sqlite'))) await sleep(5);
        },
        maxMs: 150,
        maxKills: bySuite(1, Number.POSITIVE_INFINITY),
        random: { next: Math.random },
      });
      kills += runs.kills;
      const posts = postsIn(cwd);
      expect(posts.map(({ id, text }) => [id, text])).toEqual(expected);
    }
  });
});
