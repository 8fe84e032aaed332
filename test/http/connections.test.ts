import { execFile } from 'node:child_process';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Client } from 'undici';
import { expect, it } from 'vitest';
import { compiled } from '../compiled.js';

const INDEX = path.join(import.meta.dirname, '../../src/index.ts');

it('importing the connections module loads only the HTTP client of undici', async () => {
  // @ts-expect-error: undici declares the types of its main module only.
  const { default: loaded } = await import('undici/lib/dispatcher/client.js');
  expect(loaded).toBe(Client);
});

it('sending a request loads only the HTTP client of undici', async () => {
  const script = `
    import { createRequire } from 'node:module';
    import { account, jobs } from ${JSON.stringify(pathToFileURL(compiled(INDEX)).href)};
    const acme = account({
      ...{ historicalUrl: 'http://127.0.0.1:1', account: 'acme', publisher: 'twitter' },
      ...{ email: 'a@b.c', password: 'secret', retry: { attempts: 1 } },
    }, {});
    await jobs.list(acme).catch(({ code }) => console.log(code));
    const loaded = Object.keys(createRequire(import.meta.url).cache).join(' ');
    console.log(/undici.lib.dispatcher.client\\.js/.test(loaded), /undici.index\\.js/.test(loaded));`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    ...['-e', script],
  ]);
  expect(stdout).toBe('ERR_CONNECTION\ntrue false\n');
});
