import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import fc from 'fast-check';
import {
  type AccountOptions,
  account,
  collect,
  jobs,
  pipeline,
  replayRules,
  search,
  users,
} from 'millrace';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SETTINGS } from '../../src/http/settings.js';
import { ACME } from './acme.js';

async function recorder(options: AccountOptions = {}) {
  const sent: string[] = [];
  const server = createServer(socket => {
    let bytes = '';
    socket.setEncoding('latin1').on('error', () => {});
    socket.on('data', text => {
      bytes += text;
      const [head = '', body] = bytes.split('\r\n\r\n', 2);
      const [, length = '0'] = /^content-length: *(\d+)/im.exec(head) ?? [];
      if (body === undefined || body.length < Number(length)) return;
      sent.push(bytes);
      socket.end('HTTP/1.1 422 Refused\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const acme = account({ url: `http://127.0.0.1:${port}`, ...ACME, ...options }, {});
  onTestFinished(async () => {
    await acme.close();
    server.close();
  });
  return { acme, sent };
}

type Acme = Awaited<ReturnType<typeof recorder>>['acme'];
const dates = { fromDate: '201401010000', toDate: '201401020000' } as const;

const CALLS: Readonly<Record<string, (acme: Acme, text: string) => Promise<unknown>>> = {
  search: (acme, text) =>
    pipeline(search(acme, { product: 'fullarchive', query: 'rain', next: text }), collect()),
  'jobs.create': (acme, text) =>
    jobs.create(acme, {
      title: text,
      dataFormat: 'original',
      rules: [{ value: 'rain', tag: text }],
      ...dates,
    }),
  'jobs.get': (acme, text) => jobs.get(acme, text),
  'jobs.accept': (acme, text) => jobs.accept(acme, text),
  'replayRules.add': (acme, text) => replayRules.add(acme, [{ value: 'rain', tag: text }]),
  'replayRules.delete': (acme, text) => replayRules.delete(acme, [{ value: text }]),
  'users.requestToken': (acme, text) => users.requestToken(acme, { callback: text }),
  'users.engagementTotals': (acme, text) => users.engagementTotals(acme, { ids: [text] }),
};

const namesIn = (request: string) =>
  (request.split('\r\n\r\n', 1)[0] ?? '')
    .split('\r\n')
    .slice(1)
    .map(line => line.split(':', 1)[0]?.toLowerCase());

describe('the headers of a request', () => {
  it('contain the exact length of the body exactly once', async () => {
    const { acme, sent } = await recorder();
    for (const [name, call] of Object.entries(CALLS)) {
      const text = name === 'users.requestToken' ? 'oob' : '12345';
      await call(acme, text).catch(() => {});
    }
    const withBody = sent.filter(request => /^(POST|PUT|PATCH) /.test(request));
    expect(withBody.length).toBeGreaterThanOrEqual(6);
    for (const request of sent) {
      const names = namesIn(request);
      expect(new Set(names).size, request).toBe(names.length);
      expect(names).not.toContain('transfer-encoding');
    }
    for (const request of withBody) {
      const [head = '', body = ''] = request.split('\r\n\r\n', 2);
      const lengths = [...head.matchAll(/^content-length: *(.*)$/gim)].map(([, text]) => text);
      expect(lengths, head).toEqual([String(body.length)]);
    }
  });

  const injected = fc
    .tuple(fc.string(), fc.constantFrom('\r\n', '\n', '\r', '\r\n\r\n'), fc.string())
    .map(([before, end, after]) => `${before}${end}X-Evil: 1${end}${after}`);

  it('get no extra line from a setting with a line break, which causes an error that names the setting', () => {
    const texts = Object.entries(SETTINGS).flatMap(([name, { kind }]) =>
      ['text', 'segment', 'secret'].includes(kind) ? [name] : [],
    );
    expect(texts.length).toBeGreaterThan(10);
    fc.assert(
      fc.property(fc.constantFrom(...texts), injected, (option, text) => {
        let error: unknown;
        try {
          account({ ...ACME, url: 'http://127.0.0.1:1', [option]: text }, {});
        } catch (thrown) {
          error = thrown;
        }
        expect(error).toMatchObject({ code: 'ERR_OPTION', option });
      }),
    );
  });

  it('get no extra line from a line break in any string of a call', async () => {
    const { acme, sent } = await recorder();
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...Object.keys(CALLS)), injected, async (name, text) => {
        const call = async () => CALLS[name]?.(acme, text);
        const failed = await call().catch((error: unknown) => error);
        expect(failed).toMatchObject({ code: expect.stringMatching(/^ERR_/) });
      }),
    );
    expect(sent.length).toBeGreaterThan(1);
    for (const request of sent) {
      const names = namesIn(request);
      expect(new Set(names).size, request).toBe(names.length);
      expect(names).not.toContain('x-evil');
    }
  });
});
