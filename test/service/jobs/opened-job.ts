import { parseTimestamp } from '../../../src/base/time.js';
import type { JobRecord } from '../../../src/service/jobs/job-record.js';

export const at = (text: string) => parseTimestamp(text) ?? Number.NaN;

export const JOB: JobRecord = {
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
