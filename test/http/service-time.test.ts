import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../src/base/time.js';
import { compliance } from '../../src/compliance/compliance.js';
import type { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { type Account, account } from '../../src/http/account.js';
import { replay } from '../../src/replay/replay.js';
import { counts } from '../../src/search/counts.js';
import { search } from '../../src/search/search.js';
import { createService, type Service } from '../../src/service/index.js';
import { collect } from '../../src/sinks/collect.js';
import { files } from '../../src/sinks/files.js';
import { timingOf } from '../replay/service-timing.js';
import { temporaryFolder } from '../temporary-folder.js';

const START = Date.UTC(2024, 4, 10, 9, 41, 12);

let service: Service;
let addresses: Awaited<ReturnType<Service['start']>>;
beforeAll(async () => {
  service = createService({
    limits: 'relaxed',
    postsPerMinute: 1,
    complianceRate: 1,
    heartbeatMs: 20,
  });
  addresses = await service.start(0);
  service.clock.freeze();
});
afterAll(() => service.stop());

/**
 * Creates an account on a machine whose clock is off by `skewMs`. If `skewMs` is undefined, the
 * account uses the clock of the service.
 */
function accountAt(skewMs: number | undefined, slept: number[]): Account {
  const timing = timingOf(service);
  const sleep: typeof timing.sleep = (ms, signal) => {
    slept.push(ms);
    return timing.sleep(ms, signal);
  };
  if (skewMs === undefined) return account({ ...addresses, timing: { ...timing, sleep } }, {});
  const now = () => timing.now() + skewMs;
  return account({ ...addresses, serviceTime: undefined, timing: { ...timing, now, sleep } }, {});
}

const gaps: unknown[] = [];
const onGap = (gap: unknown) => gaps.push(gap);
const query = { query: 'good OR new OR day OR coffee OR rain' } as const;
const fromDate = new Date(START - 5 * HOUR);
const SOURCES: Record<string, (acme: Account, folder: string) => Flow<unknown>> = {
  search: acme => search(acme, { ...query, product: '30day', fromDate, incremental: true, onGap }),
  counts: acme =>
    counts(acme, {
      ...query,
      product: '30day',
      fromDate,
      bucket: 'hour',
      incremental: true,
      onGap,
    }),
  replay: (acme, folder) =>
    replay(acme, { streamType: 'firehose', fromDate, incremental: true, folder, onGap }),
};

/**
 * Runs an incremental source twice, 4 hours apart. Each run has a new account, as in a new process.
 */
async function twoRuns(source: (typeof SOURCES)[string], skewMs?: number) {
  const folder = await temporaryFolder();
  const slept: number[] = [];
  gaps.length = 0;
  service.clock.set(START);
  const added: unknown[] = [];
  for (const _ of [1, 2]) {
    const result = await pipeline(
      source(accountAt(skewMs, slept), folder) as Flow<object>,
      files<object>({
        path: path.join(folder, 'all.jsonl'),
        checkpoint: path.join(folder, 'checkpoint.json'),
      }),
    );
    added.push(result.added);
    service.clock.advance(4 * HOUR);
  }
  const lines = (await readFile(path.join(folder, 'all.jsonl'), 'utf8')).split('\n').toSorted();
  const { cursor } = JSON.parse(await readFile(path.join(folder, 'checkpoint.json'), 'utf8'));
  const { until, window } = cursor;
  const waited = slept.reduce((sum, ms) => sum + ms, 0) > MINUTE;
  return { added, lines, until, window, gaps: [...gaps], waited };
}

describe.each(Object.entries(SOURCES))('%s() with `incremental`', (_, source) => {
  it.each([
    ['31 days behind', -31 * DAY],
    ['3 hours behind', -3 * HOUR],
    ['3 hours ahead', 3 * HOUR],
    ['31 days ahead', 31 * DAY],
  ])(
    'computes its windows from the clock of the service if the local clock is %s',
    async (_, skewMs) => {
      const expected = await twoRuns(source);
      expect(expected.added.every(added => Number(added) > 0)).toBe(true);
      expect(expected).toMatchObject({ gaps: [], waited: false });
      expect(expected.until ?? expected.window.toDate).toBeDefined();
      expect(await twoRuns(source, skewMs)).toEqual(expected);
    },
  );
});

describe("compliance() with until: 'caught up'", () => {
  it.each([
    ['31 days behind', -31 * DAY],
    ['6 days ahead', 6 * DAY],
  ])(
    'decides by the clock of the service when to end if the local clock is %s',
    async (_, skewMs) => {
      const slept: number[] = [];
      gaps.length = 0;
      service.clock.set(START);
      const events = await pipeline(
        compliance(accountAt(skewMs, slept), {
          until: 'caught up',
          fromDate: new Date(START - 2 * HOUR),
          onGap,
        }),
        collect(),
      );
      expect(events.length).toBeGreaterThan(0);
      expect(gaps).toEqual([]);
      expect(slept.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(40 * MINUTE);
    },
  );
});
