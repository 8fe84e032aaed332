import { mkdir } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { JobStore } from '../../../src/service/jobs/job-store.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { JOB } from './opened-job.js';

describe('the store of jobs on disk', () => {
  it('contains the last of many concurrent saves of a job', async () => {
    const folder = await temporaryFolder();
    const store = new JobStore(folder);
    await Promise.all(Array.from({ length: 50 }, (_, number) => store.save({ ...JOB, number })));
    await store.close();
    const again = new JobStore(folder);
    const [kept] = await again.load();
    await again.close();
    expect(kept?.job.number).toBe(49);
  });

  it('returns jobs in order of creation, and skips folders that contain no job', async () => {
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
