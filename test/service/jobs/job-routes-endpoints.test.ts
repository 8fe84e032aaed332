import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import net, { type AddressInfo } from 'node:net';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { type Account, account } from '../../../src/http/account.js';
import { downloadJob } from '../../../src/jobs/download-job.js';
import { jobResults } from '../../../src/jobs/job-calls.js';
import { runJob } from '../../../src/jobs/run-job.js';
import { createService, type ServiceOptions } from '../../../src/service/index.js';
import { afterTests } from '../../after-tests.js';
import { temporaryFolder } from '../../temporary-folder.js';

const closing: (() => unknown)[] = [];
afterTests(async () => {
  for (const close of closing.splice(0)) await close();
});

async function started(options: ServiceOptions) {
  const service = createService({ limits: 'relaxed', jobDwellMs: 0, ...options });
  closing.push(() => service.stop());
  return service.start();
}

async function publishedPort(port: number): Promise<number> {
  const server = net.createServer(socket => {
    const inner = net.connect(port, '127.0.0.1');
    for (const one of [socket, inner]) one.on('error', () => {});
    socket.pipe(inner).pipe(socket);
  });
  closing.push(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function downloaded(acme: Account) {
  const job = await runJob(acme, {
    title: 'tea',
    dataFormat: 'original',
    fromDate: '2024-01-01',
    toDate: '2024-01-01T00:30:00Z',
    rules: [{ value: 'lang:en' }],
    decide: () => true,
    pollIntervalMs: 1_000,
  });
  const folder = path.join(await temporaryFolder(), 'job');
  const verdict = await downloadJob(acme, job, { folder });
  expect(verdict.missing).toEqual([]);
  const files = (await readdir(folder, { recursive: true })).filter(name => name.endsWith('.gz'));
  const { urlList } = await jobResults(acme, job);
  const [jobOrigin, ...fileOrigins] = [job.jobURL, ...urlList].map(url => new URL(url).origin);
  return { files: files.length, jobOrigin, fileOrigins: [...new Set(fileOrigins)] };
}

describe('the file URLs of a job', () => {
  it('use the origin that the client used if the service has a token', async () => {
    const { baseUrl, ...names } = await started({ host: '0.0.0.0' });
    const port = await publishedPort(Number(new URL(baseUrl).port));
    const { account: name, email, password, publisher, limits } = names;
    const url = `http://127.0.0.1:${port}`;
    const acme = account({ url, account: name, email, password, publisher, limits }, {});
    expect(await downloaded(acme)).toEqual({ files: 3, jobOrigin: url, fileOrigins: [url] });
  });

  it('use an outer address of the service if the client uses the addresses of start()', async ({
    skip,
  }) => {
    const addresses = await started({ host: '0.0.0.0' });
    if (addresses.insecureOrigins.length === 0) skip('This machine has no outer address');
    const { baseUrl: url } = addresses;
    const found = await downloaded(account(addresses, {}));
    expect(found).toEqual({ files: 3, jobOrigin: url, fileOrigins: [url] });
  });

  it('need no second port if the service has a token', async () => {
    const listen = vi.spyOn(net.Server.prototype, 'listen');
    await started({ token: 'the-token-of-a-test' });
    expect(listen).toHaveBeenCalledTimes(1);
    await started({});
    expect(listen).toHaveBeenCalledTimes(3);
    listen.mockRestore();
  });

  it('have a second origin on loopback', async () => {
    const addresses = await started({});
    const found = await downloaded(account(addresses, {}));
    expect(found).toMatchObject({ files: 3, jobOrigin: addresses.baseUrl });
    expect(found.fileOrigins).toHaveLength(1);
    expect(found.fileOrigins).not.toContain(addresses.baseUrl);
  });
});
