import { mkdir } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { Job } from '../../../src/service/jobs/job-record.js';
import { JobStore } from '../../../src/service/jobs/job-store.js';
import { parseTimestamp } from '../../../src/time.js';
import { temporaryFolder } from '../../temporary-folder.js';

const at = (text: string) => parseTimestamp(text) ?? Number.NaN;

const JOB: Job = {
  uuid: 'eff5t4me1j',
  number: 1,
  title: 'a job',
  format: 'original',
  from: at('201307221500'),
  to: at('201307230000'),
  rules: [],
  requestedBy: 'dev@example.com',
  requestedAt: at('201307240810'),
  status: 'opened',
  since: at('201307240810'),
};

describe('the store of jobs', () => {
  it('keeps the last of many concurrent saves', async () => {
    const folder = await temporaryFolder();
    const store = new JobStore(folder);
    await Promise.all(Array.from({ length: 50 }, (_, number) => store.save({ ...JOB, number })));
    await store.close();
    const again = new JobStore(folder);
    const [kept] = await again.load();
    await again.close();
    expect(kept?.job.number).toBe(49);
  });

  it('gives jobs in order of creation, and skips other folders', async () => {
    const folder = await temporaryFolder();
    const store = new JobStore(folder);
    for (const [i, uuid] of ['c', 'a', 'b'].entries())
      await store.save({ ...JOB, uuid, number: i });
    await mkdir(`${folder}/jobs/never-made`);
    await store.close();
    const again = new JobStore(folder);
    const kept = await again.load();
    await again.close();
    expect(kept.map(({ job }) => job.uuid)).toEqual(['c', 'a', 'b']);
  });
});
