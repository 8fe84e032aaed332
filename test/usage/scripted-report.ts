import { type AccountOptions, account } from '../../src/http/account.js';
import { type UsageReport, usage } from '../../src/usage/usage-report.js';
import { json, ScriptedServer } from '../http/scripted-server.js';
import { impatient } from '../http/virtual-time.js';

export const span = (activities: number, fromDate: string, toDate: string) => ({
  activities,
  fromDate,
  toDate,
});
export const APRIL = ['202404010000', '202405010000'] as const;
export const MAY = ['202405010000', '202405151234'] as const;
export const WHOLE_MAY = ['202405010000', '202406010000'] as const;

export const REPORT = {
  account: { name: 'acme', status: 'active' },
  bucket: 'month',
  fromDate: '202404010000',
  toDate: '202405151234',
  publishers: [
    {
      name: 'posts',
      type: 'posts',
      used: [span(1200, ...APRIL), span(500, ...MAY)],
      projected: span(1000, ...WHOLE_MAY),
      products: [
        {
          name: '30day',
          type: 'search',
          used: [
            { ...span(700, ...APRIL), requests: 70 },
            { ...span(100, ...MAY), requests: 10 },
          ],
          projected: { ...span(200, ...WHOLE_MAY), requests: 20 },
          thresholds: [{ requests: 15, type: 'cap' }],
        },
        { name: 'power', type: 'rulestream', used: [span(600, ...APRIL), span(400, ...MAY)] },
      ],
      thresholds: [
        { activities: 1500, type: 'alert' },
        { activities: 2000, type: 'cap' },
      ],
    },
  ],
};

/** The server of the tests. Each test must start it. */
export const server = new ScriptedServer();
export const acme = (options: AccountOptions = {}) =>
  account(
    {
      accountApiUrl: `${server.url}/api/`,
      account: 'Acme Inc',
      email: 'a@b.c',
      password: 'canary',
      ...options,
    },
    {},
  );

export async function reportOf(body: object = REPORT): Promise<UsageReport> {
  server.script.push(json(body));
  return usage(acme({ timing: impatient() }));
}
