import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DAY } from '../../../src/base/time.js';
import { bySuite } from '../../suite.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { NOW } from '../local-service.js';
import { JobModel } from './job-model.js';
import { type LocalJobs, localJobs } from './local-jobs.js';

/**
 * How long a job stays in each state, in ms. All of these times are longer than any work in these
 * tests, and no two of them are equal.
 */
const DWELL = {
  opened: 31_000,
  estimating: 47_000,
  accepted: 29_000,
  running: 61_000,
  completed: 37_000,
};
const SHORTEST = 29_000;

type Step =
  | { readonly do: 'create'; readonly count: number }
  | { readonly do: 'advance'; readonly ms: number }
  | {
      readonly do: 'decide';
      readonly jobs: readonly number[];
      readonly decision: 'accept' | 'reject';
    }
  | { readonly do: 'restart' };

const advances = (min: number, max: number): fc.Arbitrary<Step> =>
  fc.record({ do: fc.constant('advance'), ms: fc.integer({ min, max }) });

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('create'), count: fc.integer({ min: 1, max: 5 }) }),
  },
  { weight: 7, arbitrary: advances(1, 40_000) },
  { weight: 2, arbitrary: advances(40_000, 200_000) },
  { weight: 1, arbitrary: advances(14 * DAY, 16 * DAY) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('decide'),
      jobs: fc.array(fc.nat(), { minLength: 1, maxLength: 10, size: 'max' }),
      decision: fc.constantFrom('accept', 'accept', 'reject'),
    }),
  },
  { weight: 2, arbitrary: fc.constant<Step>({ do: 'restart' }) },
);

it('a job changes its status at the times that a model predicts, across any restarts', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }), async steps => {
      const stateFolder = await temporaryFolder();
      const open = (clock: number) => localJobs({ stateFolder, clock, jobDwellMs: DWELL });
      let jobs = await open(NOW);
      try {
        const model = new JobModel(NOW, DWELL, 2);
        const uuids: string[] = [];
        for (const wanted of steps) {
          if (wanted.do === 'advance') await advance(jobs, model, wanted.ms);
          else if (wanted.do === 'restart') {
            await jobs.stop();
            jobs = await open(model.now);
            await jobs.service.settled();
          } else if (wanted.do === 'create') {
            for (let i = 0; i < wanted.count; i++) {
              // Advances the clock so that no two events happen at the same instant.
              await advance(jobs, model, 1);
              const title = `job ${uuids.length}`;
              uuids.push(await jobs.create({ title, toDate: '202405150944' }));
              model.create(title);
            }
          } else if (uuids.length > 0) {
            for (const job of wanted.jobs) {
              await advance(jobs, model, 1);
              const at = job % uuids.length;
              const { status } = await jobs.put(String(uuids[at]), wanted.decision);
              const expected = model.decide(`job ${at}`, wanted.decision);
              expect(status === 200).toBe(expected);
            }
          }
          expect(await statuses(jobs)).toEqual(model.statuses());
          expect(jobs.errors).toEqual([]);
        }
      } finally {
        await jobs.stop();
      }
    }),
    { numRuns: bySuite(2, 100) },
  );
});

/**
 * Advances the clock. Begins with steps of `SHORTEST`, so that work that starts in one step ends
 * before the next step. The rest is one long step. If more than a day passes and no job is waiting
 * for its turn, there are only long steps.
 */
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
