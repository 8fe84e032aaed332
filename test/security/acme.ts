import type { AccountOptions, jobs } from 'millrace';
import { LOGIN } from '../login.js';

export const ACME = {
  account: 'acme',
  publisher: 'twitter',
  label: 'dev',
  streamLabel: 'prod',
  complianceLabel: 'prod',
  rulestream: 'r',
  ...LOGIN,
  consumerKey: 'key',
  consumerSecret: 'secret',
  accessToken: 'token',
  accessTokenSecret: 'secret',
} as const satisfies AccountOptions;

export function listedJob(url: string): jobs.DeliveredJob {
  return {
    title: 'a job',
    uuid: 'listed',
    status: 'delivered',
    statusMessage: '',
    publisher: 'twitter',
    jobURL: `${url}/jobs/listed.json`,
    fromDate: '202401010000',
    toDate: '202401010010',
    results: { activityCount: 1, fileCount: 1 },
  };
}

export function pastHour(): { readonly fromDate: Date; readonly toDate: Date } {
  const hour = 3_600_000;
  return { fromDate: new Date(Date.now() - 2 * hour), toDate: new Date(Date.now() - hour) };
}
