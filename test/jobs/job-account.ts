import { type Account, type AccountOptions, account } from '../../src/http/account.js';
import type { JobRequest } from '../../src/jobs/job-request.js';
import type { ScriptedServer } from '../http/scripted-server.js';
import { impatient } from '../http/virtual-time.js';
import { LOGIN } from '../login.js';

export function jobAccount({ url }: ScriptedServer, options: AccountOptions = {}): Account {
  return account(
    {
      historicalUrl: `${url}/api/`,
      account: 'acme corp',
      publisher: 'twitter',
      ...LOGIN,
      timing: impatient(),
      limits: { jobReads: [], jobCreation: [] },
      ...options,
    },
    {},
  );
}

export const REQUEST: JobRequest = {
  title: 'snow',
  fromDate: '201401010000',
  toDate: new Date(Date.UTC(2014, 0, 2)),
  dataFormat: 'original',
  rules: [
    { value: 'snow lang:en', tag: 'a' },
    { value: 'rain', tag: null },
    { value: '"ice é🎉"' },
  ],
};
