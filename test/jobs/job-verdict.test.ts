import { describe, expect, it } from 'vitest';
import { IncompleteError } from '../../src/base/errors.js';
import {
  type Delivered,
  incompleteJob,
  jobVerdict,
  sumDelivered,
  type VerdictBasis,
} from '../../src/jobs/job-verdict.js';

const BASIS: VerdictBasis = {
  job: { uuid: 'u1', title: 'snow', results: { activityCount: 30 } },
  urlCount: 3,
  totalBytes: 300,
  listed: 3,
  suspectMinutes: [],
};
const file = (suspectMinutes: readonly string[] = []) => ({
  bytes: 100,
  posts: 10,
  suspectMinutes,
});
const ALL: Delivered = sumDelivered([file(), file(), file()], []);

describe('the verdict on the completeness of a job', () => {
  it('is complete if the delivered totals equal those of the service', () => {
    expect(jobVerdict(BASIS, ALL)).toMatchObject({
      exitCode: 0,
      missing: [],
      files: { expected: 3, delivered: 3 },
      summary:
        'Job "snow" (u1): 3 of 3 files with 30 of 30 posts; nothing is missing; no suspect minutes',
    });
  });

  it('names missing files, but not the totals that differ because of missing files', () => {
    const delivered = sumDelivered([file(), file()], ['202401010000']);
    expect(jobVerdict(BASIS, delivered)).toMatchObject({ exitCode: 1, missing: ['202401010000'] });
  });

  it('names each total that differs', () => {
    const delivered = sumDelivered([file(), file(), { ...file(), posts: 9, bytes: 1 }], []);
    expect(jobVerdict({ ...BASIS, listed: 2 }, delivered).missing).toEqual([
      '2 of 3 files are listed (urlCount)',
      '201 of 300 bytes (totalFileSizeBytes)',
      '29 of 30 posts (activityCount)',
    ]);
  });

  it('contains each suspect minute once, even if both the list and a file name it', () => {
    const delivered = sumDelivered([file(['202401010001']), file(), file(['202401010000'])], []);
    const verdict = jobVerdict({ ...BASIS, suspectMinutes: ['202401010001'] }, delivered);
    expect(verdict).toMatchObject({
      exitCode: 2,
      suspectMinutes: ['202401010000', '202401010001'],
      missing: [],
    });
  });

  it('does not compare the totals of the whole job with those of a shard', () => {
    const shard = { index: 2, of: 3 };
    const verdict = jobVerdict(BASIS, sumDelivered([file()], []), { shard, files: 1 });
    expect(verdict).toMatchObject({
      shard,
      exitCode: 0,
      files: { expected: 1, delivered: 1 },
      posts: { expected: undefined, delivered: 10 },
    });
    expect(verdict.summary).toContain('shard 2/3');
  });

  it('becomes an error if files are missing or required totals differ', () => {
    const totals = jobVerdict(BASIS, sumDelivered([file(), file(), { ...file(), posts: 9 }], []));
    const cause = new Error('reset');
    const required = { totals: 'require', lacksFiles: false, cause } as const;
    expect(incompleteJob(totals, required)).toBeInstanceOf(IncompleteError);
    expect(incompleteJob(totals, required)?.message).toMatch(/The last error: reset$/);
    expect(incompleteJob(totals, { ...required, totals: 'report' })).toBeUndefined();
    const report = { totals: 'report', lacksFiles: true, cause } as const;
    expect(incompleteJob(totals, report)).toBeInstanceOf(IncompleteError);
    expect(incompleteJob(jobVerdict(BASIS, ALL), required)).toBeUndefined();
  });
});
