import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addressesOfRunning,
  environmentOf,
  shellWord,
} from '../../src/service/account-variables.js';
import { type Addresses, createService } from '../../src/service/index.js';
import { BASH_ARGS } from '../child-processes.js';
import { MemoryArchive } from './memory-archive.js';

describe('environmentOf', () => {
  it('sets limits and insecure origins if the service has them, and clears those of the environment', async () => {
    const addresses = async (limits: 'strict' | 'relaxed') => {
      const service = createService({ limits, archive: new MemoryArchive([]) });
      const started = await service.start();
      await service.stop();
      return started;
    };
    const [strict, relaxed] = [await addresses('strict'), await addresses('relaxed')];
    const set = (of: Addresses, given = {}) => {
      const { MILLRACE_LIMITS: limits, MILLRACE_INSECURE_ORIGINS: origins } = environmentOf(
        of,
        given,
      );
      return { limits, origins };
    };
    const other = { MILLRACE_LIMITS: 'relaxed', MILLRACE_INSECURE_ORIGINS: 'http://other.example' };
    expect(set(strict)).toEqual({ limits: undefined, origins: undefined });
    expect(set(strict, other)).toEqual({ limits: '', origins: '' });
    expect(set(relaxed)).toEqual({ limits: 'relaxed', origins: undefined });
    const insecureOrigins = ['http://one.example', 'http://two.example'];
    expect(set({ ...relaxed, insecureOrigins }, other)).toEqual({
      limits: 'relaxed',
      origins: 'http://one.example,http://two.example',
    });
  });
});

it.each(['<!doctype html>', '{}', '{"baseUrl":"http://127.0.0.1"}', ''])(
  'addressesOfRunning says that another program runs at the port if it answers %j',
  async body => {
    const server = createServer((_, response) => response.end(body));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await expect(addressesOfRunning(url, undefined, 'service')).rejects.toMatchObject({
      code: 'ERR_CONNECTION',
      message: expect.stringContaining(`Another program answers at ${url}`),
    });
    server.closeAllConnections();
    await once(server.close(), 'close');
  },
);

describe('a value quoted for a shell', () => {
  it('is read back unchanged by the shell, whatever it contains', () => {
    const words = fc.sample(fc.string({ unit: fc.constantFrom(...'\'"\\$`!#&;|<>* \n\tab') }), 300);
    const script = words.map(word => `printf '%s\\0' ${shellWord(word)}`).join('\n');
    const { stdout } = spawnSync('bash', [...BASH_ARGS, script], { encoding: 'utf8' });
    expect(stdout.split('\0').slice(0, -1)).toEqual(words);
  });
});
