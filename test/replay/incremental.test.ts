import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { collect, files, type Gap, OptionError, pipeline, replay, tap } from 'millrace';
import { beforeEach, describe, expect, it } from 'vitest';
import { DAY, floorTo, formatTimestamp, HOUR, MINUTE } from '../../src/base/time.js';
import { acme, folder, service, setUpServiceReplay } from './replay-of-service.js';

let start: number;
const gaps: Gap[] = [];

setUpServiceReplay({ postsPerMinute: 1 });
beforeEach(() => {
  // The number of generated posts depends on the time of day.
  service.clock.set(Date.UTC(2026, 10, 20, 15));
  start = floorTo(MINUTE, service.clock.now()) - 2 * HOUR;
  gaps.length = 0;
});

const common = () => ({ streamType: 'firehose', fromDate: new Date(start), folder }) as const;

function run(failAfter = Number.POSITIVE_INFINITY) {
  let left = failAfter;
  return pipeline(
    replay(acme(), { ...common(), incremental: true, onGap: gap => void gaps.push(gap) }),
    tap(() => {
      if (left-- <= 0) throw new Error('crash');
    }),
    files({
      path: path.join(folder, 'out/{hour}.jsonl'),
      checkpoint: path.join(folder, 'checkpoint.json'),
      commitIntervalMs: 0,
    }),
  );
}

async function ids(): Promise<string[]> {
  const names = (await readdir(path.join(folder, 'out'))).filter(name => name.includes('jsonl'));
  const texts = await Promise.all(
    names.map(name => readFile(path.join(folder, 'out', name), 'utf8')),
  );
  const lines = texts.flatMap(text => text.split('\n').filter(line => line !== ''));
  return lines.map(line => JSON.parse(line).id_str).sort();
}

async function expected(): Promise<string[]> {
  const toDate = new Date(floorTo(MINUTE, service.clock.now() - 31 * MINUTE));
  const posts = await pipeline(replay(acme(), { ...common(), toDate }), collect());
  return posts.map(({ id }) => id).sort();
}

describe('replay() with `incremental`', () => {
  it('continues where the last complete run ended, even after a crash', async () => {
    const first = await run();
    expect(first.added).toBeGreaterThan(60);
    expect(await ids()).toEqual(await expected());
    service.clock.advance(3 * HOUR + 17_000);
    await expect(run(100)).rejects.toThrow('crash');
    service.clock.advance(HOUR);
    const { added, posts } = await run();
    expect(await ids()).toEqual(await expected());
    expect(posts).toBe((await ids()).length);
    expect(added).toBeGreaterThan(100);
    expect(gaps).toEqual([]);
  });

  it('delivers no post twice if the clock of the service was set back between two runs', async () => {
    await run();
    const before = service.clock.now();
    service.clock.set(before - HOUR);
    expect(await run()).toMatchObject({ added: 0 });
    service.clock.set(before + HOUR);
    await run();
    expect(await ids()).toEqual(await expected());
  });

  it('opens no connection in a second run within the same minute', async () => {
    await run();
    let requests = 0;
    service.on('request', () => requests++);
    expect(await run()).toMatchObject({ added: 0 });
    expect(requests).toBe(0);
  });

  it('reports minutes that are older than five days only once, and continues after them', async () => {
    await run();
    const end = formatTimestamp(floorTo(MINUTE, service.clock.now() - 31 * MINUTE));
    service.clock.advance(5 * DAY + HOUR);
    // This run crashes after one post, because reading five days of posts takes too long. The start
    // of the gap below shows that the runs resume.
    await expect(run(1)).rejects.toThrow('crash');
    service.clock.advance(5 * DAY - HOUR);
    start = service.clock.now();
    const { added } = await run();
    expect(added).toBeGreaterThan(0);
    expect(gaps).toEqual([{ fromDate: end, toDate: expect.any(String), reason: 'expired' }]);
    await run();
    expect(gaps.length).toBe(1);
  }, 120_000);

  it('throws an error for wrong options', () => {
    const refused = (options: object) => () => replay(acme(), { ...common(), ...options });
    expect(refused({})).toThrow('`toDate` is missing');
    expect(refused({ incremental: true })).toThrow('`onGap` is missing');
    const onGap = () => {};
    expect(refused({ incremental: true, onGap, toDate: new Date() })).toThrow(OptionError);
    expect(refused({ incremental: true, onGap, shard: { index: 0, of: 2 } })).toThrow(OptionError);
  });
});
