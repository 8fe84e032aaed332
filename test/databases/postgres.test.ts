import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pipeline } from '../../src/flow/pipeline.js';
import { account } from '../../src/http/account.js';
import { search } from '../../src/search/search.js';
import { environmentOf } from '../../src/service/account-variables.js';
import { createService, type Service } from '../../src/service/index.js';
import { collect } from '../../src/sinks/collect.js';
import { toRow } from '../../src/tables/to-row.js';
import { compiled } from '../compiled.js';
import { KilledChild, killUntilDone } from '../killed-child.js';
import { bySuite } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import { hasPostgres, PostgresServer } from './postgres-server.js';

const EXAMPLE = path.resolve(import.meta.dirname, '../../examples/21-into-postgres.ts');
const KILLS = bySuite(1, 40);
const FILES = 20;

describe.skipIf(!hasPostgres)('posts written to PostgreSQL', () => {
  let service: Service;
  let server: PostgresServer;
  let env: NodeJS.ProcessEnv;
  let expected: [string, string][];

  beforeAll(async () => {
    service = createService({ limits: 'relaxed', duplicatesAtPageEdges: true });
    service.clock.freeze();
    const addresses = await service.start();
    server = await PostgresServer.open();
    env = { ...process.env, ...environmentOf(addresses), ...server.env() };
    const query = {
      product: '30day',
      query: 'coffee OR rain',
      limit: 2_000,
      maxResults: 100,
    } as const;
    const found = await pipeline(search(account(addresses), query), collect());
    const rows = found.map(toRow(['id', 'text'])).map(({ id, text }) => [id, text] as const);
    expected = [...new Map(rows as [string, string][])].toSorted();
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await service?.stop();
  });

  const start = (more: NodeJS.ProcessEnv = {}) =>
    new KilledChild(compiled(EXAMPLE), [], { env: { ...env, ...more } });
  const posts = async () =>
    (await server.query<{ id: string; text: string }>('SELECT id, text FROM posts'))
      .map(({ id, text }): [string, string] => [id, text])
      .toSorted();
  const empty = () => server.query('DROP TABLE IF EXISTS posts, checkpoints');

  it('are stored exactly once with all columns, and not requested again in a second run', async () => {
    expect(await start().end()).toBe('done');
    expect(await posts()).toEqual(expected);
    const [row] = await server.query('SELECT * FROM posts LIMIT 1');
    expect(row).toMatchObject({
      lang: expect.any(String),
      posted_at: expect.any(Date),
      hashtags: expect.any(Array),
    });
    expect(await start({ MILLRACE_URL: 'http://127.0.0.1:9' }).end()).toBe('done');
  });

  it('are stored exactly once, however often the script is killed', async () => {
    for (let kills = 0; kills < KILLS; ) {
      await empty();
      const { kills: more } = await killUntilDone({
        start,
        begun: () => sleep(200),
        maxMs: 200,
        maxKills: KILLS,
        random: { next: Math.random },
      });
      kills += more;
      expect(await posts()).toEqual(expected);
    }
  });

  it('are stored exactly once if threads encode them, however often the script is killed', async () => {
    const folder = await temporaryFolder();
    const text = (id: number) => `"${id}", or\n☃ ${'x'.repeat(id % 50)}`;
    for (let file = 0; file < FILES; file++) {
      // Each file starts with the last post of the previous file, so the script must drop
      // duplicates.
      const ids = Array.from({ length: 201 }, (_, at) => file * 200 + at);
      const lines = ids.map(
        id =>
          `{"created_at":"Wed Oct 10 20:19:24 +0000 2018","id":${id},"id_str":"${id}","text":${JSON.stringify(text(id))}}\n`,
      );
      await writeFile(path.join(folder, `${file + 10}.gz`), gzipSync(lines.join('')));
    }
    const script = compiled(path.resolve(import.meta.dirname, 'stored-posts-child.ts'));
    for (let kills = 0; kills < KILLS; ) {
      await server.query(
        'DROP TABLE IF EXISTS stored_posts, checkpoints; CREATE TABLE stored_posts (id text PRIMARY KEY, text text); CREATE TABLE checkpoints (saved text)',
      );
      const { kills: more } = await killUntilDone({
        start: () => new KilledChild(script, [folder, '2'], { env }),
        maxMs: 600,
        maxKills: KILLS,
        random: { next: Math.random },
      });
      kills += more;
      const stored = await server.query<{ id: string; text: string }>(
        'SELECT id, text FROM stored_posts ORDER BY id::int',
      );
      expect(stored).toEqual(
        Array.from({ length: FILES * 200 + 1 }, (_, id) => ({ id: `${id}`, text: text(id) })),
      );
    }
  });
});
