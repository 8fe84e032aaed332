import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { constants, createGzip, type Gzip } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ConnectionError, HttpError, OptionError, StorageError } from '../../src/base/errors.js';
import { formatTimestamp, HOUR, MINUTE, parseTimestamp, SECOND } from '../../src/base/time.js';
import type { Wait } from '../../src/base/wait.js';
import {
  type ComplianceGap,
  type ComplianceOptions,
  compliance,
} from '../../src/compliance/compliance.js';
import type { Cursor } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { Progress } from '../../src/flow/progress.js';
import { type Account, type AccountOptions, account } from '../../src/http/account.js';
import type { Timing } from '../../src/http/timing.js';
import type { ComplianceEvent } from '../../src/post/compliance-event.js';
import { ReplaySpool } from '../../src/replay/replay-spool.js';
import { collect } from '../../src/sinks/collect.js';
import { files } from '../../src/sinks/files.js';
import { AT_ONCE_MS } from '../at-once.js';
import { begin, COMPLETED, info, stream, windowOf } from '../http/live-wire.js';
import { ScriptedServer, status } from '../http/scripted-server.js';
import { impatient } from '../http/virtual-time.js';
import { LOGIN } from '../login.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';

interface Happened {
  readonly id: number;
  readonly at: number;
}

class ComplianceServer {
  readonly happened: Happened[] = [];
  readonly open: {
    readonly url: string;
    readonly gzip: Gzip;
    readonly response: ServerResponse;
  }[] = [];

  constructor(server: ScriptedServer) {
    server.otherwise = async (response, request) => {
      if (request.url.includes('/replay/compliance/')) {
        const { from, to } = windowOf(request);
        const events = this.happened.filter(({ at }) => from <= at && at < to).map(textOf);
        return stream([...events, info(COMPLETED, events.length)])(response, request);
      }
      begin(response);
      const gzip = createGzip();
      gzip.pipe(response);
      const one = { url: request.url, gzip, response };
      this.open.push(one);
      response.on('close', () => this.open.splice(this.open.indexOf(one), 1));
      this.write(one, '');
    };
  }

  /**
   * Sends heartbeats until the test ends. On the test's clock, they are 10 s apart. A client knows
   * that a connection is complete up to its second-to-last heartbeat.
   */
  keepAlive(timing: Timing): void {
    const timer = setInterval(() => {
      void timing.sleep(10 * SECOND);
      for (const one of this.open) this.write(one, '');
    }, 10);
    onTestFinished(() => clearInterval(timer));
  }

  happen(id: number, at: number): void {
    this.happened.push({ id, at });
    for (const one of this.open) this.write(one, textOf({ id, at }));
  }

  write({ gzip }: { readonly gzip: Gzip }, text: string): void {
    gzip.write(`${text}\r\n`);
    gzip.flush(constants.Z_SYNC_FLUSH);
  }

  /** Resets all open connections. When this resolves, clients may already have reconnected. */
  async cut(): Promise<void> {
    const all = [...this.open];
    const closed = all.map(({ response }) => once(response, 'close'));
    for (const { response } of all) response.socket?.resetAndDestroy();
    await Promise.all(closed);
  }

  async until(connections: number): Promise<void> {
    while (this.open.length !== connections) await new Promise(resolve => setTimeout(resolve, 1));
  }
}

function textOf({ id, at }: Happened): string {
  return `{"delete":{"status":{"id":${id},"id_str":"${id}","user_id":1,"user_id_str":"1"},"timestamp_ms":"${at}"}}`;
}

let server: ScriptedServer;
let service: ComplianceServer;
let folder: string;
let timing: ReturnType<typeof impatient>;

beforeEach(async () => {
  server = await new ScriptedServer().start();
  service = new ComplianceServer(server);
  folder = await temporaryFolder();
  timing = impatient();
});
afterEach(() => server.stop());

function acme(options: Partial<AccountOptions> = {}): Account {
  return account(
    {
      complianceStreamUrl: server.url,
      replayStreamUrl: server.url,
      publisher: 'twitter',
      account: 'acme',
      complianceLabel: 'live',
      streamLabel: 'prod',
      timing,
      ...LOGIN,
      ...options,
    },
    {},
  );
}

function reading(options: ComplianceOptions = {}, of = acme()) {
  const ids: string[] = [];
  let cursor: Cursor | undefined;
  const stop = new AbortController();
  const done = (async () => {
    const flow = compliance(of, { folder, ...options });
    for await (const batch of flow.batches({ signal: stop.signal })) {
      ids.push(...batch.items.map(event => (event as ComplianceEvent & { postId: string }).postId));
      cursor = JSON.parse(JSON.stringify(batch.cursor ?? cursor ?? null)) ?? undefined;
    }
  })();
  done.catch(() => {});
  return {
    ids,
    done,
    cursor: () => cursor,
    async has(...wanted: string[]) {
      const until = Date.now() + 60_000;
      while (!wanted.every(id => ids.includes(id))) {
        if (Date.now() > until) throw new Error(`Have ${ids}, want ${wanted}`);
        await Promise.race([new Promise(resolve => setTimeout(resolve, 1)), done]);
      }
    },
    async stop() {
      stop.abort(new Error('enough'));
      await expect(done).rejects.toThrow('enough');
    },
  };
}

describe('compliance()', () => {
  it('delivers events as they happen', async () => {
    const run = reading();
    await service.until(1);
    for (let id = 1; id <= 20; id++) service.happen(id, timing.now());
    await run.has('1', '20');
    expect(run.ids).toEqual(Array.from({ length: 20 }, (_, n) => String(n + 1)));
    expect(server.received[0]).toMatchObject({
      url: '/accounts/acme/publishers/twitter/streams/compliance/live.json',
      headers: { 'accept-encoding': 'gzip' },
    });
    await run.stop();
    expect(await server.closed()).toBeLessThan(AT_ONCE_MS);
  });

  it('reconnects after its connection is cut, and fetches the missed events from a replay', async () => {
    const run = reading();
    await service.until(1);
    service.happen(1, timing.now());
    await run.has('1');
    await service.cut();
    service.happened.push({ id: 2, at: timing.now() });
    await service.until(1);
    service.happen(3, timing.now());
    await run.has('2', '3');
    expect(server.received.filter(({ url }) => url.includes('/replay/')).length).toBe(1);
    await run.stop();
  });

  // Found by `npm run faults -- matrix`, seed 2.
  it('reconnects after its connection ends cleanly in the middle of an event', async () => {
    const run = reading();
    await service.until(1);
    service.happen(1, timing.now());
    await run.has('1');
    const event = { id: 2, at: timing.now() };
    service.happened.push(event);
    service.open[0]?.gzip.end(textOf(event).slice(0, 40));
    await run.has('2');
    await service.until(1);
    service.happen(3, timing.now());
    await run.has('3');
    await run.stop();
  });

  // Found by `npm run faults -- matrix`, seed 2.
  it('fetches an event that had been arriving for minutes when the connection broke', async () => {
    const run = reading();
    await service.until(1);
    service.happen(1, timing.now());
    await run.has('1');
    const event = { id: 2, at: timing.now() };
    service.happened.push(event);
    const { gzip } = service.open[0]!;
    for (let part = 0; part < 20; part++) {
      gzip.write(textOf(event).slice(part * 2, part * 2 + 2));
      gzip.flush(constants.Z_SYNC_FLUSH);
      await timing.sleep(MINUTE);
      // With this delay, each part arrives separately.
      await new Promise(resolve => setTimeout(resolve, 10));
    }
    await service.cut();
    await run.has('2');
    await run.stop();
  });

  it('fetches the events between two runs if the second run resumes from the cursor of the first', async () => {
    const first = reading();
    await service.until(1);
    service.happen(1, timing.now());
    await first.has('1');
    await first.stop();
    service.happened.push({ id: 2, at: timing.now() + 10 });
    expect(first.cursor()).toMatchObject({ source: 'compliance', gaps: [] });
    const second = reading({ resume: first.cursor() });
    await second.has('2');
    await second.stop();
    const third = reading({ resume: second.cursor() });
    await service.until(1);
    await third.stop();
    const again = / to start again$/;
    for (const resume of [{ source: 'search' }, { ...second.cursor(), until: 'then' }])
      await expect(reading({ resume }).done).rejects.toThrow(again);
    await expect(reading({ resume: { source: 'search' } }).done).rejects.toThrow(OptionError);
    await expect(reading({ resume: unchecked(null) }).done).rejects.toThrow(OptionError);
    const other = reading({ resume: second.cursor(), complianceLabel: 'other' });
    await expect(other.done).rejects.toThrow('not one of this compliance stream');
  });

  it("with until: 'caught up' ends after it has delivered all events of every partition from before its start", async () => {
    service.keepAlive(timing);
    const options = { until: 'caught up', partitions: [1, 2] } as const;
    const first = reading(options);
    await first.done;
    expect(first.ids).toEqual([]);
    service.happened.push({ id: 1, at: timing.now() + 10 });
    await timing.sleep(26 * HOUR);
    service.happened.push({ id: 2, at: timing.now() - MINUTE });
    const began = timing.now();
    const second = reading({ ...options, resume: first.cursor() });
    await second.done;
    // Events may be repeated, because the gaps of the two partitions can overlap.
    expect(new Set(second.ids)).toEqual(new Set(['1', '2']));
    // On a busy machine, a heartbeat can be late on the test's clock. The run then cuts the
    // connection, which adds a gap after `began`.
    const { gaps } = JSON.parse(JSON.stringify(second.cursor())) as {
      readonly gaps: readonly { readonly fromDate: string }[];
    };
    expect(gaps.filter(({ fromDate }) => (parseTimestamp(fromDate) ?? 0) < began)).toEqual([]);
    const third = reading({ ...options, resume: second.cursor() });
    await third.done;
    await service.until(0);
  });

  it("with until: 'caught up' reports immediately what it waits for, and until when", async () => {
    service.keepAlive(timing);
    const began = timing.now();
    service.happened.push({ id: 1, at: began - HOUR });
    const progress = new Progress();
    const waits: Wait[] = [];
    const lefts: number[] = [];
    const { onWait } = progress;
    Object.assign(progress, {
      onWait: (wait: Wait) => {
        waits.push(wait);
        return onWait(wait);
      },
    });
    Object.defineProperty(progress, 'endsAt', {
      set: endsAt => lefts.push(endsAt - performance.now()),
    });
    const fromDate = new Date(began - 2 * HOUR);
    const flow = compliance(acme(), { folder, until: 'caught up', fromDate });
    for await (const _ of flow.batches({ progress }));
    expect(waits.map(({ reason }) => reason)).toContain('too recent');
    // The replay waits in several steps. The first step must already report the time at which the
    // last minute becomes available. The last step ends at this time.
    expect(Number(waits.at(-1)?.until)).toBeGreaterThan(began + 30 * MINUTE);
    expect(lefts[0]).toBeGreaterThan(25 * MINUTE);
    expect(progress.counts()).toMatchObject({ received: 1, wait: undefined });
  });

  it("with until: 'caught up' reports a wait before it repeats a replay that failed", async () => {
    service.keepAlive(timing);
    const { otherwise } = server;
    let failed = 0;
    server.otherwise = (response, request) => {
      if (request.url.includes('/replay/') && failed++ < 2) return status(503)(response, request);
      return otherwise(response, request);
    };
    const progress = new Progress();
    const shown: (number | undefined)[] = [];
    const { onWait } = progress;
    Object.assign(progress, {
      onWait: (wait: Wait) => {
        if (wait.reason === 'retry') shown.push(wait.waitMs);
        return onWait(wait);
      },
    });
    const fromDate = new Date(timing.now() - 2 * HOUR);
    const timings = { attempts: 1 };
    const flow = compliance(acme(), { folder, until: 'caught up', fromDate, timings });
    for await (const _ of flow.batches({ progress }));
    expect(shown).toContain(5 * MINUTE);
    expect(progress.wait).toBeUndefined();
  });

  it('fails without a retry if the disk is full during the replay of missed events', async () => {
    service.keepAlive(timing);
    service.happened.push({ id: 1, at: timing.now() - HOUR });
    const full = new StorageError('no room', { path: folder, retryable: true });
    const add = vi.spyOn(ReplaySpool.prototype, 'add').mockRejectedValue(full);
    onTestFinished(() => add.mockRestore());
    const options = { until: 'caught up', fromDate: new Date(timing.now() - 2 * HOUR) } as const;
    const onRetry = () => {
      throw new Error('It retried');
    };
    await expect(reading(options, acme({ onRetry })).done).rejects.toBe(full);
  });

  it('does not report the waits of a replay while live events arrive', async () => {
    service.happened.push({ id: 1, at: timing.now() - HOUR });
    const progress = new Progress();
    const fromDate = new Date(timing.now() - 2 * HOUR);
    for await (const { items } of compliance(acme(), { folder, fromDate }).batches({ progress }))
      if (items.length > 0) break;
    expect(progress.counts()).toMatchObject({ waits: 0, leftMs: undefined });
  });

  it("with until: 'caught up' does not end while a partition has no connection", async () => {
    service.keepAlive(timing);
    service.happened.push({ id: 1, at: timing.now() - HOUR });
    const options = { until: 'caught up', fromDate: new Date(timing.now() - 2 * HOUR) } as const;
    const first = reading(options);
    await first.done;
    expect(first.ids).toEqual(['1']);
    const { otherwise } = server;
    let refused = 0;
    server.otherwise = (response, request) => {
      if (request.url.includes('partition=2') && refused++ < 3)
        return status(503)(response, request);
      return otherwise(response, request);
    };
    await reading({ until: 'caught up', partitions: [1, 2] }).done;
    expect(refused).toBeGreaterThan(3);
  });

  it('rejects the cursor of another service, but accepts one from an older version', async () => {
    const first = reading({}, acme({ localService: 'one' }));
    await service.until(1);
    service.happen(1, timing.now());
    await first.has('1');
    await first.stop();
    const resume = first.cursor();
    expect(resume).toMatchObject({ service: 'one' });
    const other = reading({ resume }, acme({ localService: 'two' }));
    await expect(other.done).rejects.toThrow(
      'of another service: it was "one", and now it is "two"',
    );
    const { service: _, ...older } = resume ?? {};
    service.happened.push({ id: 2, at: timing.now() + 10 });
    for (const cursor of [resume, older]) {
      const again = reading({ resume: cursor }, acme({ localService: 'one' }));
      await again.has('2');
      await again.stop();
    }
  });

  // Found by `npm run faults -- matrix`, seed 27.
  it('fetches an event that was in transit when the previous run ended, even if events arrive half an hour late', async () => {
    let ahead = 0;
    const sent = timing.now();
    const of = acme({ serviceTime: () => timing.now() + ahead });
    const first = reading({}, of);
    await service.until(1);
    service.happen(0, sent);
    await first.has('0');
    ahead = HOUR / 2;
    // Each event arrives separately, and much later than the time that it contains.
    for (let id = 1; id <= 10; id++) {
      service.happen(id, sent + id);
      await first.has(String(id));
      // A pause without data, as from a stalled network or a blocked event loop.
      if (id === 5) await timing.sleep(6 * SECOND);
    }
    service.happened.push({ id: 11, at: sent + 11 });
    await first.stop();
    const second = reading({ resume: first.cursor() }, of);
    await second.has('11');
    await second.stop();
  });

  it('delivers the events since `fromDate` if it is in the past', async () => {
    const from = Date.now() - 2 * HOUR;
    service.happened.push({ id: 7, at: from + MINUTE });
    const run = reading({ fromDate: new Date(from) });
    await run.has('7');
    await run.stop();
  });

  it('rejects a `fromDate` that is more than an hour after the time of the service', async () => {
    const run = pipeline(compliance(acme(), { folder, fromDate: '2250-01-01' }), collect());
    await expect(run).rejects.toMatchObject({
      code: 'ERR_OPTION',
      option: 'fromDate',
      message: expect.stringContaining('`fromDate` must be in the past'),
    });
  });

  it('does not replay the part of a gap again that the previous run has fetched', async () => {
    const from = timing.now() - 5 * HOUR;
    service.happened.push({ id: 1, at: from + MINUTE }, { id: 2, at: from + 4 * HOUR });
    const replays: ReturnType<typeof windowOf>[] = [];
    const { otherwise } = server;
    let answered = 1;
    server.otherwise = (response, request) => {
      if (request.url.includes('/replay/')) {
        replays.push(windowOf(request));
        if (replays.length > answered) return;
      }
      return otherwise(response, request);
    };
    const options = { fromDate: new Date(from) };
    const first = reading(options);
    await first.has('1');
    await expect.poll(() => replays.length).toBe(2);
    const fetched = replays[0]!;
    let id = 3;
    const cursor = () => {
      service.happen(id++, timing.now());
      return JSON.stringify(first.cursor());
    };
    await expect
      .poll(cursor, { timeout: 20_000 })
      .toContain(`"gaps":[{"fromDate":"${formatTimestamp(fetched.to)}"`);
    await first.stop();
    replays.length = 0;
    answered = Number.POSITIVE_INFINITY;
    const second = reading({ ...options, resume: first.cursor() });
    await second.has('2');
    expect(Math.min(...replays.map(window => window.from))).toBe(fetched.to);
    await second.stop();
  });

  it.each([
    ['/streams/', 'not JSON'],
    ['/replay/', 'not JSON'],
    ['/streams/', '{"info":{"minutes_failed":["soon"]}}'],
    ['/replay/', '{"info":{"minutes_failed":["soon"]}}'],
  ])(
    'reports a damaged record from %s to `onDamaged` and to `damaged` of the sink, and continues: %s',
    async (place, record) => {
      service.keepAlive(timing);
      const from = timing.now() - 2 * HOUR;
      service.happened.push({ id: 1, at: from + MINUTE });
      const { otherwise } = server;
      let sent = 0;
      server.otherwise = async (response, request) => {
        if (!request.url.includes(place) || sent++ > 0) return otherwise(response, request);
        const event = textOf(service.happened[0]!);
        if (place === '/replay/')
          return stream([event, record, info(COMPLETED, 2)])(response, request);
        await otherwise(response, request);
        service.write(service.open[0]!, record);
      };
      const told: string[] = [];
      const onDamaged = ({ raw }: { readonly raw: Buffer }) => void told.push(String(raw));
      const source = compliance(acme(), {
        folder,
        until: 'caught up',
        fromDate: new Date(from),
        onDamaged,
      });
      const damaged = path.join(folder, 'damaged.jsonl');
      const checkpoint = path.join(folder, 'checkpoint.json');
      await pipeline(
        source,
        files({ path: path.join(folder, 'events.jsonl'), checkpoint, damaged }),
      );
      expect(told).toEqual([record]);
      expect(await readFile(damaged, 'utf8')).toContain(JSON.stringify(record));
      expect(await readFile(path.join(folder, 'events.jsonl'), 'utf8')).toContain('"id_str":"1"');
    },
  );

  it('delivers newer cursors while only heartbeats arrive', async () => {
    service.keepAlive(timing);
    const began = timing.now();
    const run = reading();
    const until = () => Date.parse(String(run.cursor()?.until));
    await expect.poll(until, { timeout: 20_000 }).toBeGreaterThan(began + MINUTE);
    expect(run.ids).toEqual([]);
    await run.stop();
  });

  it('reports a gap instead of filling it if `backfill` is false', async () => {
    const gaps: ComplianceGap[] = [];
    const run = reading({ backfill: false, onGap: gap => gaps.push(gap) });
    await service.until(1);
    await service.cut();
    await service.until(1);
    while (gaps.length === 0) await new Promise(resolve => setTimeout(resolve, 1));
    expect(gaps).toMatchObject([{ reason: 'not filled' }]);
    await run.stop();
  });

  it('emits a warning about a gap if there is no `onGap`', async () => {
    const emitted = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    onTestFinished(() => emitted.mockRestore());
    const run = reading({ backfill: false });
    await service.until(1);
    await service.cut();
    await vi.waitFor(() => expect(emitted).toHaveBeenCalled(), 20_000);
    expect(emitted.mock.calls).toEqual([
      [
        expect.stringMatching(
          /^Compliance events from \d{12} to \d{12} could not be fetched \(not filled\)\. Pass `onGap`/,
        ),
      ],
    ]);
    await run.stop();
  });

  it('opens a connection to each partition, but at most 10 a minute', async () => {
    const run = reading({ partitions: [1, 2, 3, 8] });
    await service.until(4);
    expect(service.open.map(({ url }) => /\d$/.exec(url)?.[0]).toSorted()).toEqual([
      '1',
      '2',
      '3',
      '8',
    ]);
    for (let times = 0; times < 4; times++) {
      await service.cut();
      await service.until(4);
    }
    const starts = timing.slept.filter(ms => ms > 20_000);
    expect(starts.length).toBeGreaterThan(0);
    await run.stop();
  });

  it('causes no listener leak warning with all partitions connected', async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error) => warnings.push(warning);
    process.on('warning', listen);
    const run = reading({ partitions: [1, 2, 3, 4, 5, 6, 7, 8] });
    await service.until(8);
    await service.cut();
    await service.until(8);
    process.off('warning', listen);
    expect(warnings).toEqual([]);
    await run.stop();
  });

  it('fails on a 401, on a 406 that requires compression, and if no server listens', async () => {
    server.script.push(status(401));
    await expect(reading().done).rejects.toThrow(HttpError);
    const compressed = status(406, '{"error":{"message":"This connection requires compression."}}');
    server.script.push(...Array.from({ length: 10 }, () => compressed));
    await expect(reading().done).rejects.toThrow('requires compression');
    expect(server.script).toEqual([]);
    const away = acme({ complianceStreamUrl: 'http://127.0.0.1:9', retry: { attempts: 3 } });
    await expect(reading({}, away).done).rejects.toThrow(ConnectionError);
  });

  it('reconnects if its first requests get a 406 and a 400, and calls onRetry', async () => {
    const retried: string[] = [];
    const watched = acme({ onRetry: ({ error }) => retried.push(error.message) });
    server.script.push(status(406, '{"error":{"message":"Too many"}}'), status(400));
    const run = reading({}, watched);
    await service.until(1);
    expect(retried).toEqual([expect.stringContaining('Too many'), expect.stringContaining('400')]);
    await run.stop();
  });

  it('reconnects after a 406 if it was already connected', async () => {
    const run = reading();
    await service.until(1);
    server.script.push(status(406, '{"error":{"message":"Too many connections"}}'));
    await service.cut();
    await service.until(1);
    service.happen(1, timing.now());
    await run.has('1');
    await run.stop();
  });

  it('fails on a 404, even after it has been connected', async () => {
    const run = reading();
    await service.until(1);
    server.script.push(status(404));
    await service.cut();
    await expect(run.done).rejects.toThrow('404');
  });

  it.each([
    ['after a 503', status(503), 4],
    ['for the Retry-After of a 503', status(503, '', { 'retry-after': '33' }), 33],
    ['after a 503 with a short Retry-After', status(503, '', { 'retry-after': '1' }), 4],
    ['for the Retry-After of a 429', status(429, '', { 'retry-after': '33' }), 33],
    ['a minute after a 429 without Retry-After', status(429), 60],
  ])('waits %s, and then connects', async (_, reply, seconds) => {
    server.script.push(reply);
    const run = reading();
    await service.until(1);
    expect(timing.slept.map(ms => Math.round(ms / 1000))).toEqual([seconds]);
    await run.stop();
  });

  it('waits no longer after each broken connection if events arrived over it', async () => {
    const run = reading({ backfill: false, onGap: () => {} });
    for (let id = 1; id <= 6; id++) {
      await service.until(1);
      service.happen(id, timing.now());
      await run.has(String(id));
      await service.cut();
    }
    await service.until(1);
    expect(timing.slept.length).toBe(6);
    expect(Math.max(...timing.slept)).toBeLessThan(SECOND / 2);
    await run.stop();
  });

  it('fails if Retry-After exceeds the maximum wait of the account', async () => {
    server.script.push(status(429, '', { 'retry-after': '3600' }));
    const batches = compliance(acme(), { folder }).batches()[Symbol.asyncIterator]();
    await expect(batches.next()).rejects.toMatchObject({ status: 429, retryAfterMs: 3_600_000 });
    expect(timing.slept).toEqual([]);
  });

  it('loses no event if its consumer reads late', async () => {
    const flow = compliance(acme(), { folder }).batches()[Symbol.asyncIterator]();
    const first = flow.next();
    await service.until(1);
    for (let id = 1; id <= 5_000; id++) service.happen(id, 1_700_000_000_000);
    const ids: string[] = (await first).value.items.map(
      (event: { postId: string }) => event.postId,
    );
    while (ids.length < 5_000)
      ids.push(...(await flow.next()).value.items.map((event: { postId: string }) => event.postId));
    expect(ids).toEqual(Array.from({ length: 5_000 }, (_, n) => String(n + 1)));
    await flow.return?.();
    expect(await server.closed()).toBeLessThan(AT_ONCE_MS);
  });

  it('names the URL of its stream as the origin of its events', async () => {
    const batches = compliance(acme(), { folder }).batches()[Symbol.asyncIterator]();
    const first = batches.next();
    await service.until(1);
    service.happen(1, timing.now());
    expect((await first).value).toMatchObject({ origin: `${server.url}${service.open[0]?.url}` });
    await batches.return?.();
  });

  it('throws an OptionError for wrong options before it connects', () => {
    for (const options of [
      { partitions: [] },
      { fromDate: '' },
      { backfill: 'no' },
      { complianceLabel: '' },
      null,
      { partitions: [0] },
      { partitions: [1, 1] },
      { fromDate: 'yesterday' },
      { onGap: 1 },
      { partition: 1 },
    ])
      expect(() => compliance(acme(), unchecked(options))).toThrow(OptionError);
    expect(() => compliance(acme({ complianceLabel: undefined }))).toThrow('complianceLabel');
    expect(() => compliance(acme({ streamLabel: undefined }))).toThrow('streamLabel');
    compliance(acme({ streamLabel: undefined }), { backfill: false });
  });
});
