import { describe, expect, it } from 'vitest';
import { quoteOf } from '../../../src/service/jobs/estimate.js';
import type { Job } from '../../../src/service/jobs/job-record.js';
import { settingsOf } from '../../../src/service/service-options.js';
import { parseTimestamp } from '../../../src/time.js';

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

describe('the estimated count', () => {
  const settings = settingsOf({});
  it.each([
    [0, 100],
    [99, 100],
    [999, 100],
    [1000, 1000],
    [9999.9, 1000],
    [123_456, 100_000],
    [1e9, 1e9],
  ])('of %d is %d', (posts, count) => {
    const { estimatedActivityCount } = quoteOf(
      JOB,
      { posts, bytes: 0, readMs: 0 },
      settings,
      JOB.since,
    );
    expect(estimatedActivityCount).toBe(count);
  });
});
