import { createService } from '../../src/service/index.js';

// Starts a service with a job and some usage, but without a state folder. Waits to be killed.
const service = createService({ limits: 'relaxed' });
const { baseUrl, account, label, publisher, email, password } = await service.start();
const headers = { authorization: `Basic ${btoa(`${email}:${password}`)}` };
const jobs = `${baseUrl}/historical/rulestream/accounts/${account}/publishers/${publisher}/jobs.json`;
const job = {
  publisher,
  dataFormat: 'original',
  fromDate: '202401010000',
  toDate: '202401010010',
  title: 'one',
  rules: [{ value: 'coffee' }],
};
await fetch(jobs, { method: 'POST', headers, body: JSON.stringify(job) });
await fetch(`${baseUrl}/search/30day/accounts/${account}/${label}.json?query=coffee`, { headers });
await fetch(`${baseUrl}/accounts/${account}/usage.json`, { headers });
process.stdout.write('in use\n');
