import { describe, expect, it } from 'vitest';
import { HttpError } from '../../src/base/errors.js';
import { formatTimestamp, HOUR, MINUTE } from '../../src/base/time.js';
import type { Wait } from '../../src/base/wait.js';
import { compliance } from '../../src/compliance/compliance.js';
import type { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { Progress, type ProgressCounts, ProgressParts } from '../../src/flow/progress.js';
import { type Account, account } from '../../src/http/account.js';
import { jobFiles } from '../../src/jobs/job-files.js';
import { runJob } from '../../src/jobs/run-job.js';
import { replay } from '../../src/replay/replay.js';
import { counts } from '../../src/search/counts.js';
import { search } from '../../src/search/search.js';
import { createService } from '../../src/service/index.js';
import { usageRows } from '../../src/usage/usage-table.js';

const newService = () => createService({ limits: 'relaxed', jobDwellMs: 0 });

const hour = () => ({
  fromDate: formatTimestamp(Date.now() - 3 * HOUR),
  toDate: formatTimestamp(Date.now() - 2 * HOUR),
});

async function waitsOf(flow: Flow<unknown>): Promise<readonly Wait[]> {
  const waits: Wait[] = [];
  const over = new AbortController();
  const progress = ({ wait }: ProgressCounts) => {
    if (wait !== undefined && !waits.includes(wait)) waits.push(wait);
    if (wait === undefined && waits.length > 0) over.abort('seen');
  };
  const drain = async (input: AsyncIterable<unknown>) => {
    for await (const _ of input);
  };
  await pipeline(flow, drain, { progress, signal: over.signal }).catch(error => {
    if (error !== 'seen') throw error;
  });
  return waits;
}

type Source = (acme: Account) => Flow<unknown> | Promise<Flow<unknown>>;

const SOURCES: Record<string, readonly [Endpoint, Source]> = {
  search: ['search', acme => search(acme, { product: '30day', query: 'coffee', limit: 500 })],
  counts: ['counts', acme => counts(acme, { product: '30day', query: 'coffee', bucket: 'day' })],
  'job files': [
    'job-files',
    async acme => {
      const job = await runJob(acme, {
        title: 'coffee',
        fromDate: '202401010000',
        toDate: '202401010100',
        dataFormat: 'original',
        rules: [{ value: 'coffee' }],
        decide: () => true,
        pollIntervalMs: 20,
      });
      return jobFiles(acme, job);
    },
  ],
  replay: ['replay', acme => replay(acme, { streamType: 'sample10', ...hour() })],
  compliance: ['compliance', acme => compliance(acme, { onGap() {} })],
  usage: ['usage', acme => usageRows(acme)],
};
type Endpoint = 'search' | 'counts' | 'job-files' | 'replay' | 'compliance' | 'usage';

it.concurrent.each(Object.entries(SOURCES))(
  'the progress shows why a request of %s is retried',
  async (_name, [endpoint, source]) => {
    await using service = newService();
    const acme = account(
      {
        ...(await service.start()),
        retry: { firstWaitMs: 2_000 },
        limits: { jobReads: [], replay: [], compliance: [] },
      },
      {},
    );
    const flow = await source(acme);
    service.faults.plant({ kind: 'status', status: 503, endpoint });
    const [first, ...others] = await waitsOf(flow);
    expect(others.map(({ error }) => String(error))).toEqual([]);
    expect(first).toMatchObject({ reason: 'retry', retry: 1 });
    expect(first?.error).toBeInstanceOf(HttpError);
    expect(first?.error).toMatchObject({ status: 503 });
    expect(first?.waitMs).toBeGreaterThanOrEqual(1_000);
    expect(Math.abs(Number(first?.until) - Date.now())).toBeLessThan(MINUTE);
  },
);

it.concurrent('the progress shows a wait for a rate limit, even if another call waits in the queue', async () => {
  await using service = newService();
  const acme = account(
    { ...(await service.start()), limits: { search: [{ requests: 1, perMs: 1_500 }] } },
    {},
  );
  const query = { product: '30day', query: 'coffee', maxResults: 10, limit: 30 } as const;
  const both = await Promise.all([waitsOf(search(acme, query)), waitsOf(search(acme, query))]);
  for (const waits of both) expect(waits.map(wait => wait.reason)).toContain('rate limit');
});

it.concurrent('the progress shows a wait for the connection limit', async () => {
  await using service = newService();
  const acme = account(
    {
      ...(await service.start()),
      limits: { compliance: [{ requests: 1, perMs: 2_000 }] },
    },
    {},
  );
  const over = new AbortController();
  const connected = pipeline(
    compliance(acme, { onGap() {} }),
    async input => {
      for await (const _ of input);
    },
    { signal: over.signal },
  ).catch(error => error);
  const waits = await waitsOf(compliance(acme, { onGap() {} }));
  over.abort('seen');
  expect(await connected).toBe('seen');
  // Timing decides which connection waits, so the waits are compared as a set.
  expect(new Set(waits.map(wait => wait.reason))).toEqual(new Set(['connect limit']));
  expect(new Set(waits.map(wait => wait.setting))).toEqual(new Set(['limits.compliance']));
});

it.concurrent('the progress names the setting limits.replay while a replay waits for the connection limit', async () => {
  await using service = newService();
  const limits = { replay: [{ requests: 1, perMs: 2_000 }] };
  const acme = account({ ...(await service.start()), limits }, {});
  const waits = await waitsOf(replay(acme, { streamType: 'firehose', ...hour() }));
  expect(waits[0]).toMatchObject({ reason: 'connect limit', setting: 'limits.replay' });
});

function partsOf(count: number) {
  const progress = new Progress();
  return { progress, parts: new ProgressParts(progress, count) };
}

describe('the progress of several sources', () => {
  it('is the mean of their fractions, with 0 for a source that is not open yet', () => {
    const { progress, parts } = partsOf(4);
    parts.of(0)!.fraction = 0.5;
    expect(progress.fraction).toBe(0.125);
    parts.done(0);
    expect(progress.fraction).toBe(0.25);
    parts.of(1)!.fraction = 1;
    expect(progress.fraction).toBe(0.5);
  });

  it('is unknown while a source that is being read does not know its own progress', () => {
    const { progress, parts } = partsOf(2);
    parts.of(0)!.fraction = 0.5;
    parts.of(1);
    expect(progress.fraction).toBeUndefined();
    parts.done(1);
    expect(progress.fraction).toBe(0.75);
  });

  it('does not mix up the fractions of the sources', () => {
    const { parts } = partsOf(2);
    const [first, second] = [parts.of(0)!, parts.of(1)!];
    first.fraction = 0.25;
    expect(first.fraction).toBe(0.25);
    expect(second.fraction).toBeUndefined();
  });

  it('adds up the counts of the sources', () => {
    const { progress, parts } = partsOf(2);
    const [first, second] = [parts.of(0)!, parts.of(1)!];
    first.received += 2;
    second.received += 3;
    second.drop('filter', 4);
    expect(progress.counts()).toMatchObject({ received: 5, dropped: new Map([['filter', 4]]) });
  });

  it('shows no remaining time if only one source estimates one', () => {
    const { progress, parts } = partsOf(2);
    parts.of(0)!.endsAt = 5_000;
    expect(progress.leftMs).toBeUndefined();
  });

  it('is disabled if the run shows no progress', () => {
    const parts = new ProgressParts(undefined, 2);
    expect(parts.of(0)).toBeUndefined();
    parts.done(0);
  });
});
