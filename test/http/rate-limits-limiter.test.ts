import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { MINUTE, SECOND } from '../../src/base/time.js';
import { type Account, account } from '../../src/http/account.js';
import { connectLive } from '../../src/http/live-connection.js';
import { LIMITS, RateLimiter } from '../../src/http/rate-limits.js';
import { request } from '../../src/http/request.js';
import { bySuite } from '../suite.js';
import { PROXIED_HOST, proxiedServer } from './proxied-server.js';
import type { ProxyServer } from './proxy-server.js';
import { json, type ScriptedServer } from './scripted-server.js';
import { settled, VirtualTime } from './virtual-time.js';

function mostIn(moments: readonly number[], perMs: number): number {
  const sorted = moments.toSorted((a, b) => a - b);
  return Math.max(
    0,
    ...sorted.map((from, i) => sorted.slice(i).filter(at => at < from + perMs).length),
  );
}

describe('the rate limiter', () => {
  it('never exceeds the rate, measured when requests are sent and when they arrive', async () => {
    const rate = fc.record({
      requests: fc.integer({ min: 1, max: 6 }),
      perMs: fc.integer({ min: 50, max: 2000 }),
    });
    const call = fc.record({
      at: fc.integer({ min: 0, max: 3000 }),
      // The time until the connection is open.
      opening: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 5000 })),
      fate: fc.constantFrom('response', 'response', 'no response', 'not sent'),
      latency: fc.integer({ min: 0, max: 1500 }),
      transit: fc.integer({ min: 0, max: 100 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(rate, { minLength: 1, maxLength: 2 }),
        fc.array(call, { maxLength: 40 }),
        async (rates, calls) => {
          const time = new VirtualTime();
          const pace = new RateLimiter(rates, time);
          const starts: number[] = [];
          const arrivals: number[] = [];
          const order: number[] = [];
          calls.forEach(({ at, opening, fate, latency, transit }, index) => {
            time.at(at, async () => {
              const start = await pace.acquire();
              starts.push(time.elapsed());
              order.push(index);
              const sentAt = time.elapsed() + opening;
              time.at(sentAt, () => start.sent());
              if (fate === 'not sent') return;
              // A request reaches the service within 250 ms, and before its response is sent.
              const maxTransit = fate === 'response' ? Math.min(250, latency) : 250;
              arrivals.push(sentAt + maxTransit * (transit / 100));
              if (fate === 'response') time.at(sentAt + latency, () => start.responded());
            });
          });
          await time.run();
          expect(starts.length).toBe(calls.length);
          for (const { requests, perMs } of rates) {
            expect(mostIn(starts, perMs)).toBeLessThanOrEqual(requests);
            expect(mostIn(arrivals, perMs)).toBeLessThanOrEqual(requests);
          }
          const asked = calls
            .map((_, i) => i)
            .toSorted((a, b) => calls[a]!.at - calls[b]!.at || a - b);
          expect(order).toEqual(asked);
          expect(time.timers).toBe(0);
        },
      ),
      { numRuns: bySuite(13, 600) },
    );
  });

  it('uses the full rate if responses are fast', async () => {
    const time = new VirtualTime();
    const pace = new RateLimiter(LIMITS.search, time);
    const starts: number[] = [];
    const all = Array.from({ length: 200 }, async () => {
      const start = await pace.acquire();
      starts.push(time.elapsed());
      time.at(time.elapsed() + 1, () => start.sent());
      time.at(time.elapsed() + 5, () => start.responded());
    });
    await time.run();
    await Promise.all(all);
    expect(mostIn(starts, SECOND)).toBe(20);
    // Ten bursts of twenty requests have nine waits between them. Each wait takes a second, plus at
    // most 10 ms for the transfer of the requests.
    expect(starts.at(-1)).toBeLessThanOrEqual(9 * 1010);
  });

  it('limits a kind of call separately if that kind has its own rate', async () => {
    const time = new VirtualTime();
    const pace = new RateLimiter(LIMITS.replayRules, time);
    const starts: Record<string, number[]> = { change: [], read: [] };
    const all = Array.from({ length: 70 }, async (_, i) => {
      const kind = i % 2 === 0 ? 'change' : 'read';
      (await pace.acquire(kind)).responded();
      starts[kind]!.push(time.elapsed());
    });
    await time.run();
    await Promise.all(all);
    expect(mostIn(starts.change!, 5 * SECOND)).toBe(5);
    expect(mostIn([...starts.change!, ...starts.read!], MINUTE)).toBeLessThanOrEqual(60);
  });

  it('applies rates with equal numbers to each of their kinds', async () => {
    const time = new VirtualTime();
    const pace = new RateLimiter(
      ['data', 'list'].map(kind => ({ requests: 1, perMs: 1000, kind })),
      time,
    );
    const starts: string[] = [];
    for (const kind of ['data', 'list', 'list', 'data'])
      void pace.acquire(kind).then(permit => {
        starts.push(`${kind} at ${time.elapsed()}`);
        permit.responded();
      });
    await time.run();
    expect(starts).toEqual(['data at 0', 'list at 0', 'list at 1000', 'data at 1000']);
  });

  it('reports the start and the end of each wait, also behind another call and with an abort', async () => {
    const time = new VirtualTime();
    const pace = new RateLimiter([{ requests: 1, perMs: 1000 }], time);
    const stop = new AbortController();
    const waits: string[] = [];
    const call = (name: string, signal?: AbortSignal) => {
      const beginWait = (waitMs: number) => {
        waits.push(`${name} waits ${waitMs} ms at ${time.elapsed()}`);
        return () => waits.push(`${name} continues at ${time.elapsed()}`);
      };
      pace.acquire(undefined, signal, beginWait).then(
        permit => permit.responded(),
        () => {},
      );
    };
    time.at(0, () => call('first'));
    time.at(1, () => call('second'));
    time.at(100, () => call('third', stop.signal));
    time.at(1500, () => stop.abort());
    await time.run();
    expect(waits).toEqual([
      'second waits 999 ms at 1',
      'third waits 900 ms at 100',
      'second continues at 1000',
      'third continues at 1000',
      'third waits 1000 ms at 1000',
      'third continues at 1500',
    ]);
  });

  it('gives the turn of an aborted call to the next call', async () => {
    const time = new VirtualTime();
    const pace = new RateLimiter([{ requests: 1, perMs: 1000 }], time);
    (await pace.acquire()).responded();
    const controller = new AbortController();
    const reason = { not: 'an error' };
    const outcomes: unknown[] = [];
    const aborted = pace.acquire(undefined, controller.signal).catch(error => outcomes.push(error));
    const alsoAborted = pace
      .acquire(undefined, controller.signal)
      .catch(error => outcomes.push(error));
    const next = pace.acquire().then(() => outcomes.push(time.elapsed()));
    await settled();
    controller.abort(reason);
    await Promise.all([aborted, alsoAborted]);
    expect(outcomes).toEqual([reason, reason]);
    expect(outcomes[0]).toBe(reason);
    await time.run();
    await next;
    expect(outcomes[2]).toBe(1000);
    expect(time.timers).toBe(0);
    await expect(pace.acquire(undefined, controller.signal)).rejects.toBe(reason);
  });

  it('continues with the next call after an abort at any moment', async () => {
    for (let microtasks = 0; microtasks < 20; microtasks++) {
      const time = new VirtualTime();
      const pace = new RateLimiter([{ requests: 1, perMs: 1000 }], time);
      const controller = new AbortController();
      const call = pace.acquire(undefined, controller.signal).then(
        permit => permit.sent(),
        () => {},
      );
      for (let i = 0; i < microtasks; i++) await undefined;
      controller.abort();
      await call;
      let isNext = false;
      pace.acquire().then(() => {
        isNext = true;
      });
      await time.run();
      expect(isNext).toBe(true);
    }
  });

  it('does not delay calls without a rate limit', async () => {
    const time = new VirtualTime();
    const pace = new RateLimiter([], time);
    await Promise.all(Array.from({ length: 100 }, () => pace.acquire()));
    expect(time.slept).toEqual([]);
  });
});

describe('a request whose connection takes long to open', () => {
  const rate = { requests: 1, perMs: SECOND };
  const url = new URL(`http://${PROXIED_HOST}/path`);
  let server: ScriptedServer;
  let proxy: ProxyServer;
  beforeEach(async () => {
    const proxied = await proxiedServer();
    ({ server, proxy } = proxied);
    return proxied.stop;
  });

  const send = (acme: Account, signal?: AbortSignal) =>
    request(acme, { method: 'GET', url, family: 'search', signal }, async () => {});
  const ways = {
    request: send,
    async stream(acme: Account) {
      const { signal } = new AbortController();
      const permit = await acme.acquire('search', url, signal);
      (await connectLive(acme, url, permit, signal)).close();
    },
  };

  it.each(Object.entries(ways))(
    'uses the rate limit from when it is sent, not from when it connects: a %s',
    async (_name, call) => {
      const time = new VirtualTime();
      const env = { HTTP_PROXY: proxy.url };
      const acme = account({ account: 'slow', timing: time, limits: { search: [rate] } }, env);
      const arrivals: number[] = [];
      server.otherwise = (response, received) => {
        arrivals.push(time.elapsed());
        return json({}, { gzip: true })(response, received);
      };
      const asked = new Promise<() => void>(resolve => {
        proxy.script.push((...tunnel) => resolve(() => proxy.otherwise(...tunnel)));
      });
      const first = call(acme);
      const second = call(acme);
      const open = await asked;
      await time.run(5 * SECOND);
      open();
      await first;
      await time.run();
      await second;
      expect(arrivals.length).toBe(2);
      expect(arrivals[0]).toBe(5 * SECOND);
      expect(mostIn(arrivals, rate.perMs)).toBe(1);
    },
  );

  it.each(['not sent', 'sent'])(
    'does not delay other requests after it is aborted (%s)',
    async when => {
      const time = new VirtualTime();
      const env = { HTTP_PROXY: proxy.url };
      const acme = account({ account: 'slow', timing: time, limits: { search: [rate] } }, env);
      const reached = new Promise<void>(resolve => {
        if (when === 'sent') server.script.push(() => resolve());
        else proxy.script.push(() => resolve());
      });
      server.otherwise = json({});
      const controller = new AbortController();
      const reason = new Error('aborted');
      const first = send(acme, controller.signal).catch(error => error);
      const second = send(acme);
      await reached;
      controller.abort(reason);
      expect(await first).toBe(reason);
      await time.run();
      await second;
      // The last request may still be on its way to the service.
      expect(time.elapsed()).toBe(rate.perMs + 250);
    },
  );
});

describe('the rate limits of an account', () => {
  it('are shared only by account objects with the same account name', () => {
    const url = new URL('https://shared.test/a');
    const pace = (name: string, base = url) =>
      account({ account: name }, {}).rateLimiter('search', base);
    expect(pace('acme')).toBe(pace('acme'));
    expect(pace('acme')).toBe(pace('acme', new URL('https://shared.test/b')));
    expect(pace('acme')).not.toBe(pace('other'));
    expect(pace('acme')).not.toBe(pace('acme', new URL('https://other.test/a')));
  });

  it('are shared by account objects with different options, and the strictest limit applies to all', async () => {
    const time = new VirtualTime();
    const url = new URL('https://shared.test');
    const acme = { account: 'acme', timing: time };
    const options = [
      acme,
      { ...acme, searchesPerMinute: 60 },
      { ...acme, searchesPerMinute: 40, retry: { attempts: 1 } },
      { ...acme, limits: {} },
      { ...acme, limits: { search: [] } },
      { ...acme, limits: { search: [{ requests: 100, perMs: SECOND }] } },
    ];
    const paces = options.map(each => account(each, {}).rateLimiter('search', url));
    const starts: number[] = [];
    const all = Array.from({ length: 120 }, async (_, i) => {
      (await paces[i % paces.length]!.acquire()).responded();
      starts.push(time.elapsed());
    });
    await time.run();
    await Promise.all(all);
    expect(mostIn(starts, SECOND)).toBe(20);
    expect(mostIn(starts, MINUTE)).toBe(40);
  });

  it('count the calls that an earlier account object made in the last minute', async () => {
    const time = new VirtualTime();
    const url = new URL('https://shared.test');
    const starts: number[] = [];
    const send = async (searchesPerMinute: number | undefined, requests: number) => {
      for (let i = 0; i < requests; i++) {
        const acme = account({ account: 'acme', timing: time, searchesPerMinute }, {});
        (await acme.rateLimiter('search', url).acquire()).responded();
        starts.push(time.elapsed());
      }
    };
    const all = send(undefined, 30)
      .then(() => time.sleep(10 * SECOND))
      .then(() => send(30, 10));
    await time.run();
    await all;
    expect(mostIn(starts, MINUTE)).toBe(30);
  });

  it('apply a new rate per minute to calls that were made before the rate was added', async () => {
    const time = new VirtualTime();
    const url = new URL('https://shared.test');
    const starts: number[] = [];
    const send = async (searchesPerMinute: number | undefined, requests: number) => {
      const acme = account({ account: 'acme', timing: time, searchesPerMinute }, {});
      for (let i = 0; i < requests; i++) {
        (await acme.rateLimiter('search', url).acquire()).responded();
        starts.push(time.elapsed());
      }
    };
    const all = send(undefined, 30)
      .then(() => time.sleep(10 * SECOND))
      .then(() => send(undefined, 1))
      .then(() => send(30, 1));
    await time.run();
    await all;
    expect(starts.at(-1)).toBeGreaterThanOrEqual(MINUTE);
  });

  it.each([
    ['searchesPerMinute', 'search'],
    ['engagementsPerMinute', 'engagement'],
  ] as const)(
    'include the setting `%s`, the requests per minute that the contract allows',
    async (setting, family) => {
      const time = new VirtualTime();
      const acme = account({ [setting]: 3, timing: time }, {});
      const pace = acme.rateLimiter(family, new URL('https://shared.test'));
      const starts: number[] = [];
      const all = Array.from({ length: 7 }, async () => {
        (await pace.acquire()).responded();
        starts.push(time.elapsed());
      });
      await time.run();
      await Promise.all(all);
      expect(mostIn(starts, MINUTE)).toBe(3);
    },
  );
});
