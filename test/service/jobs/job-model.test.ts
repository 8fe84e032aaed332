import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DAY } from '../../../src/time.js';
import { NOW } from '../local-service.js';
import { JobModel } from './job-model.js';
import { type LocalJobs, localJobs } from './local-jobs.js';

/** Longer than any work in these tests takes, and all different. */
const DWELL = {
  opened: 31_000,
  estimating: 47_000,
  accepted: 29_000,
  running: 61_000,
  completed: 37_000,
};
const SHORTEST = 29_000;

type Step =
  | { readonly do: 'create' }
  | { readonly do: 'advance'; readonly ms: number }
  | { readonly do: 'decide'; readonly job: number; readonly decision: 'accept' | 'reject' }
  | { readonly do: 'restart' };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Step>({ do: 'create' }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('advance' as const),
      ms: fc.integer({ min: 1, max: 150_000 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('decide' as const),
      job: fc.nat(),
      decision: fc.constantFrom('accept' as const, 'accept' as const, 'reject' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('advance' as const),
      ms: fc.integer({ min: 14 * DAY, max: 16 * DAY }),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'restart' }) },
);

it('jobs go through their states as a table of instants says, over any restarts', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async steps => {
      const stateFolder = await mkdtemp(join(tmpdir(), 'millrace-jobs-model-'));
      const open = (clock: number) => localJobs({ stateFolder, clock, jobDwellMs: DWELL });
      let jobs = await open(NOW);
      try {
        const model = new JobModel(NOW, DWELL, 2);
        const uuids: string[] = [];
        for (const [i, wanted] of steps.entries()) {
          // No two things happen at the same instant.
          await advance(jobs, model, 1);
          if (wanted.do === 'create') {
            const title = `job ${i}`;
            uuids.push(await jobs.create({ title, toDate: '202405150944' }));
            model.create(title);
          } else if (wanted.do === 'advance') await advance(jobs, model, wanted.ms);
          else if (wanted.do === 'restart') {
            await jobs.stop();
            jobs = await open(model.now);
            await jobs.service.settled();
          } else if (uuids.length > 0) {
            const at = wanted.job % uuids.length;
            const { status } = await jobs.put(String(uuids[at]), wanted.decision);
            expect(status === 200).toBe(
              model.decide(String(model.jobs[at]?.title), wanted.decision),
            );
          }
          expect(await statuses(jobs)).toEqual(model.statuses());
          expect(jobs.errors).toEqual([]);
        }
      } finally {
        await jobs.stop();
        await rm(stateFolder, { recursive: true, force: true });
      }
    }),
    { numRuns: process.env.MILLRACE_SLOW ? 1_000 : 50 },
  );
}, 120_000);

/** In steps within which every work has its end; a long move at once when nothing is in line. */
async function advance(jobs: LocalJobs, model: JobModel, ms: number): Promise<void> {
  const most = ms > DAY && !model.jobs.some(({ inLine }) => inLine) ? ms : SHORTEST;
  const settled = Math.min(ms, 20 * SHORTEST);
  for (let left = settled; left > 0; left -= most) await jobs.move(Math.min(left, most));
  await jobs.move(ms - settled);
  model.advance(ms);
}

async function statuses(jobs: LocalJobs): Promise<Record<string, string>> {
  const list = await jobs.list();
  const entries = list.jobs.map(({ title, status }) => [title, status]);
  expect(entries.filter(([, status]) => status === 'estimating').length).toBeLessThanOrEqual(2);
  expect(entries.filter(([, status]) => status === 'running').length).toBeLessThanOrEqual(2);
  return Object.fromEntries(entries);
}
