import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
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
import { hasPostgres, PostgresServer } from './postgres-server.js';

const EXAMPLE = path.resolve(import.meta.dirname, '../../examples/21-into-postgres.ts');
const KILLS = bySuite(1, 40);

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

  it('are stored once with all columns, and are not requested again', async () => {
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

  it('are stored once, however often the script is killed', async () => {
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
});
