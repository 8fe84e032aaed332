import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import { urlAt } from '../../../src/service/http/listen.js';
import { createService, type ServiceOptions } from '../../../src/service/index.js';
import { afterTests } from '../../after-tests.js';

const stops: (() => Promise<void>)[] = [];
afterTests(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function started(options: ServiceOptions) {
  const service = createService(options);
  stops.push(() => service.stop());
  return { service, addresses: await service.start() };
}

const outer = Object.values(networkInterfaces())
  .flat()
  .find(address => address?.family === 'IPv4' && !address.internal)?.address;

describe('the address of the local service', () => {
  it.each([
    ['127.0.0.1', 'http://127.0.0.1:8080'],
    ['localhost', 'http://localhost:8080'],
    ['192.0.2.2', 'http://192.0.2.2:8080'],
    ['Box.local', 'http://box.local:8080'],
    ['::1', 'http://[::1]:8080'],
    ['0.0.0.0', `http://${outer ?? '127.0.0.1'}:8080`],
    ['::', `http://${outer ?? '127.0.0.1'}:8080`],
  ])('contains the host, or an outer address of this machine: %s', (host, url) => {
    expect(urlAt(host, 8080)).toBe(url);
  });

  it('is reachable from this machine only, unless the host is 0.0.0.0', async ({ skip }) => {
    if (outer === undefined) skip('This machine has no outer address');
    const answersAt = (port: string) =>
      fetch(`http://${outer}:${port}/_control/health`).then(
        ({ status }) => status,
        () => 'no answer',
      );
    const { addresses: local } = await started({});
    expect(local.token).toBeUndefined();
    expect(await answersAt(new URL(local.baseUrl).port)).toBe('no answer');
    const { addresses: open } = await started({ host: '0.0.0.0' });
    expect(new URL(open.baseUrl).hostname).toBe(outer);
    expect(await answersAt(new URL(open.baseUrl).port)).toBe(200);
  });

  it('causes an OptionError for `host` if it belongs to another machine', async () => {
    for (const host of ['192.0.2.77', 'nowhere.invalid'])
      await expect(started({ host })).rejects.toMatchObject({
        code: 'ERR_OPTION',
        option: 'host',
        message: expect.stringContaining(host),
      });
  });
});
