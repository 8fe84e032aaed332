import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { IncompleteError } from '../../src/base/errors.js';
import { type Account, account } from '../../src/http/account.js';
import { downloadJob } from '../../src/jobs/download-job.js';
import type { DeliveredJob } from '../../src/jobs/job.js';
import { jobFiles } from '../../src/jobs/job-files.js';
import type { JobVerdict } from '../../src/jobs/job-verdict.js';
import { runJob } from '../../src/jobs/run-job.js';
import { activities } from '../../src/operators/activities.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import {
  createService,
  type Fault,
  type Service,
  type ServiceOptions,
} from '../../src/service/index.js';
import { localFiles } from '../../src/sources/local-files.js';
import { impatient } from '../http/virtual-time.js';
import { temporaryFolder } from '../temporary-folder.js';

let folder: string;
let service: Service | undefined;

beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  await service?.stop();
});

async function delivered(faults: readonly Fault[] = [], options: ServiceOptions = {}) {
  service = createService({ limits: 'relaxed', jobDwellMs: 0, ...options });
  const addresses = await service.start();
  for (const fault of faults) service.faults.plant(fault);
  const acme = account({ ...addresses, limits: { jobReads: [] }, timing: impatient() }, {});
  const job = await runJob(acme, {
    title: 'coffee and music',
    fromDate: '202401010000',
    toDate: '202401010200',
    dataFormat: options.format ?? 'original',
    rules: [
      { value: 'coffee', tag: 'c' },
      { value: 'music OR rain', tag: 'm' },
    ],
    decide: () => true,
    pollIntervalMs: 20,
  });
  return { acme, job, service };
}

async function read(acme: Account, job: DeliveredJob) {
  const ids: string[] = [];
  let verdict: JobVerdict | undefined;
  const flow = jobFiles(acme, job, {
    onVerdict: told => {
      verdict = told;
    },
  });
  const error = await (async () => {
    for await (const post of activities()(jsonLines()(gunzip()(flow)))) ids.push(post.id);
  })().catch(error => error);
  return { ids, verdict, error };
}

describe('a job of the local service', () => {
  it.each(['original', 'activity_streams'] as const)(
    'is delivered and downloaded completely in %s, with the matching rules of each post',
    async format => {
      const { acme, job } = await delivered([], { format });
      const { ids, verdict, error } = await read(acme, job);
      expect(error).toBeUndefined();
      expect(ids.length).toBe(job.results.activityCount);
      expect(verdict).toMatchObject({ exitCode: 0, files: { expected: job.results.fileCount } });
      expect(await downloadJob(acme, job, { folder })).toEqual(verdict);
      const stored: string[] = [];
      for await (const post of activities()(jsonLines()(gunzip()(localFiles(folder))))) {
        expect(post.tags.every(tag => tag === 'c' || tag === 'm')).toBe(true);
        expect(post.tags.length).toBeGreaterThan(0);
        stored.push(post.id);
      }
      expect(stored).toEqual(ids);
    },
  );

  it('is delivered completely even if its files have no info lines', async () => {
    const { acme, job } = await delivered([], { jobInfoLine: false });
    const { ids, error } = await read(acme, job);
    expect(error).toBeUndefined();
    expect(ids.length).toBe(job.results.activityCount);
  });

  it.each<[string, Fault]>([
    [
      'missing',
      {
        kind: 'status',
        endpoint: 'job-files',
        status: 404,
        path: '/00/10_activities',
        times: 'always',
      },
    ],
    [
      'truncated',
      {
        kind: 'cut',
        endpoint: 'job-files',
        afterBytes: 200,
        path: '/00/10_activities',
        times: 'always',
      } as Fault,
    ],
  ])(
    'with a file that stays %s is delivered without that file, and the run fails with the name of the file',
    async (_, fault) => {
      const { acme, job } = await delivered([fault]);
      const { ids, error } = await read(acme, job);
      expect(error).toBeInstanceOf(IncompleteError);
      expect(error.missing).toEqual(['202401010010']);
      expect(ids.length).toBeGreaterThan(0);
      const folderError = await downloadJob(acme, job, { folder }).catch(error => error);
      expect(folderError.missing).toEqual(['202401010010']);
    },
  );

  it.each<[string, Fault]>([
    ['missing', { kind: 'status', endpoint: 'job-files', status: 404, times: 3 }],
    ['refused', { kind: 'status', endpoint: 'job-files', status: 503, times: 3 }],
    ['truncated', { kind: 'cut', endpoint: 'job-files', afterBytes: 200, times: 3 } as Fault],
  ])('is delivered completely if files are temporarily %s', async (_, fault) => {
    const { acme, job } = await delivered([fault]);
    const { ids, error } = await read(acme, job);
    expect(error).toBeUndefined();
    expect(ids.length).toBe(job.results.activityCount);
  });

  it('is delivered completely even if its URLs expire', async () => {
    const { acme, job, service } = await delivered([], { fileUrlMs: 60_000 });
    const ids: string[] = [];
    for await (const post of activities()(
      jsonLines()(gunzip()(jobFiles(acme, job, { concurrency: 1 }))),
    )) {
      if (ids.length === 3) service.clock.advance(120_000);
      ids.push(post.id);
    }
    expect(ids.length).toBe(job.results.activityCount);
  });

  it.each<[string, Fault, RegExp]>([
    ['files', { kind: 'wrong-totals', urlCount: 1, times: 'always' }, /urlCount/],
    ['bytes', { kind: 'wrong-totals', totalFileSizeBytes: -1 }, /totalFileSizeBytes/],
    ['posts', { kind: 'wrong-totals', activityCount: 1 }, /activityCount/],
  ])(
    'with a wrong total of %s fails with an error that names the total',
    async (_, fault, expected) => {
      const { acme, job } = await delivered([fault]);
      const { error, verdict } = await read(acme, job);
      expect(error).toBeInstanceOf(IncompleteError);
      expect(error.missing).toMatchObject([expect.stringMatching(expected)]);
      expect(verdict?.exitCode).toBe(1);
    },
  );

  it('has a verdict with its suspect minutes', async () => {
    const { acme, job } = await delivered([
      { kind: 'suspect-minutes', minutes: ['202401010005', '202401010006'] },
    ]);
    expect((await read(acme, job)).verdict).toMatchObject({
      exitCode: 2,
      suspectMinutes: ['202401010005', '202401010006'],
    });
  });
});
