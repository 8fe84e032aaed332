import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DAY, formatTimestamp, HOUR, MINUTE } from '../../src/base/time.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { account } from '../../src/http/account.js';
import { search } from '../../src/search/search.js';
import { createService, type Service } from '../../src/service/index.js';
import { collect } from '../../src/sinks/collect.js';
import { bySuite } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import { killUntilDone } from './kill-until-done.js';

const KILLS = bySuite(2, 100);
const SCRIPT = path.join(import.meta.dirname, 'search-to-files.ts');
const QUERY = { product: '30day', query: 'coffee OR music', maxResults: 10, limit: 400 } as const;
let service: Service;
let options: Awaited<ReturnType<Service['start']>>;

beforeAll(async () => {
  service = createService({ limits: 'relaxed', duplicatesAtPageEdges: true });
  options = await service.start();
});

afterAll(() => service.stop());

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
  it('delivers every post exactly once, however often it is killed', async () => {
    const now = service.clock.now();
    const window = {
      ...QUERY,
      fromDate: formatTimestamp(now - 9 * DAY),
      toDate: formatTimestamp(now - HOUR),
    };
    const posts = await pipeline(search(account(options), window), collect());
    const expected = [...new Map(posts.map(post => [post.id, post.raw.toString()])).values()];

    for (let kills = 0; kills < KILLS; ) {
      const out = await temporaryFolder();
      const args = [out, JSON.stringify(options), JSON.stringify(window)];
      kills += await killUntilDone(
        { script: SCRIPT, args },
        { maxMs: 20, growth: bySuite(2, 1.5) },
      );
      const lines = await linesOf(out);
      expect(lines.length).toBe(expected.length);
      expect(lines.toSorted()).toEqual(expected.toSorted());
    }
  });

  it('adds every new post exactly once in the next runs, however often they are killed', async () => {
    const { limit: _, ...query } = QUERY;
    const now = service.clock.now();
    for (let kills = 0; kills < KILLS; ) {
      // The clock of the script is ahead of the service's.
      service.clock.set(now - 2 * DAY);
      const window = { ...query, fromDate: formatTimestamp(now - 2 * DAY - 5 * HOUR) };
      const out = await temporaryFolder();
      const incremental = JSON.stringify({ ...window, incremental: true });
      const args = [out, JSON.stringify(options), incremental];
      for (let night = 0; night < 3; night++) {
        kills += await killUntilDone(
          { script: SCRIPT, args },
          { maxMs: 20, growth: bySuite(2, 1.5) },
        );
        service.clock.advance(4 * HOUR);
      }
      const toDate = formatTimestamp(service.clock.now());
      const posts = await pipeline(search(account(options), { ...window, toDate }), collect());
      const lines = await linesOf(out);
      const before = service.clock.now() - 4 * HOUR - 10 * MINUTE;
      const settled = posts.filter(({ postedAt }) => postedAt.getTime() < before);
      const ids = lines.map(line => String(JSON.parse(line).id_str));
      expect(new Set(ids).size).toBe(ids.length);
      const all = new Set(posts.map(({ id }) => id));
      expect(ids.filter(id => !all.has(id))).toEqual([]);
      const there = new Set(ids);
      expect([...new Set(settled.map(({ id }) => id))].filter(id => !there.has(id))).toEqual([]);
    }
    service.clock.set(now);
  });
});
