import { afterEach, beforeEach } from 'vitest';
import type { AccountOptions } from '../../src/http/account.js';
import { json, ScriptedServer } from '../http/scripted-server.js';
import { jobAccount } from './job-account.js';

export const PATH = '/api/historical/rulestream/accounts/acme%20corp/publishers/twitter';

export let server: ScriptedServer;

export const acme = (options?: AccountOptions) => jobAccount(server, options);

export const JOB = {
  title: 'snow',
  account: 'acme corp',
  publisher: 'twitter',
  streamType: 'track_v2',
  format: 'original',
  fromDate: '201401010000',
  toDate: '201401020000',
  requestedBy: 'me@acme.test',
  requestedAt: '2024-05-15T12:34:56Z',
  status: 'opened',
  statusMessage: 'Waiting on quote from Gnip.',
  jobURL: `https://service.example:443${PATH}/jobs/eff5t4me1j.json`,
};

export const QUOTE = {
  costDollars: 5000,
  estimatedActivityCount: 100,
  estimatedDurationHours: '915.0',
  estimatedFileSizeMb: '0.0',
  expiresAt: '2024-05-30T12:34:56Z',
};

export const listed = (...jobs: object[]) =>
  json({ jobs, delivered: { jobCount: 0, jobDaysRun: 0, activityCount: 0 } });

export const methods = () =>
  server.received.map(({ method, url }) => `${method} ${url.replace(PATH, '')}`);

export function setUpServer(): void {
  beforeEach(async () => {
    server = await new ScriptedServer().start();
  });
  afterEach(() => server.stop());
}
