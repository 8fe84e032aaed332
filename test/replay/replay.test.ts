import { readdir } from 'node:fs/promises';
import { createGzip } from 'node:zlib';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Activity } from '../../src/activity/activity.js';
import { HttpError, IncompleteError, OptionError, StorageError } from '../../src/errors.js';
import type { Cursor } from '../../src/flow/flow.js';
import { Progress } from '../../src/flow/progress.js';
import { type Account, type AccountOptions, account } from '../../src/http/account.js';
import { ResponseHandler } from '../../src/http/response-handler.js';
import { ConnectLog } from '../../src/replay/connect-log.js';
import { type ReplayOptions, type ReplayWait, replay } from '../../src/replay/replay.js';
import { ReplaySpool } from '../../src/replay/replay-spool.js';
import { collect } from '../../src/sinks/collect.js';
import { DAY, floorTo, formatSent, HOUR, MINUTE, type Window } from '../../src/time.js';
import type { Wait } from '../../src/wait.js';
import { AT_ONCE_MS } from '../at-once.js';
import {
  begin,
  COMPLETED,
  FAILED,
  info,
  judgedReplay,
  minuteOf,
  send,
  stream,
  WITH_ERRORS,
  type WirePost,
  wholeReplay,
  windowOf,
  wireOf,
  wirePosts,
  within,
} from '../http/live-wire.js';
import { type Reply, reset, ScriptedServer, status } from '../http/scripted-server.js';
import { impatient } from '../http/virtual-time.js';
import { LOGIN } from '../login.js';
import { bySuite } from '../slow-suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';

let server: ScriptedServer;
let folder: string;
let timing: ReturnType<typeof impatient>;

beforeEach(async () => {
  server = await new ScriptedServer().start();
  folder = await temporaryFolder();
  timing = impatient();
});
afterEach(() => server.stop());

function acme(options: Partial<AccountOptions> = {}): Account {
  return account(
    {
      replayStreamUrl: `${server.url}/base`,
      account: 'acme',
      publisher: 'twitter',
      streamLabel: 'prod',
      ...LOGIN,
      timing,
      ...options,
    },
    {},
  );
}

/** `minutes` that ended three hours ago. */
function past(minutes: number): Window {
  const to = floorTo(MINUTE, Date.now() - 3 * HOUR);
  return { from: to - minutes * MINUTE, to };
}

function posts(window: Window, options: Partial<ReplayOptions> = {}, of = acme()) {
  return replay(of, {
    streamType: 'rulestream',
    fromDate: new Date(window.from),
    toDate: new Date(window.to),
    folder,
    ...(options as object),
  });
}

const idsOf = (items: readonly { readonly id: string }[]) => items.map(({ id }) => id);
const collected = (flow: ReturnType<typeof posts>) => collect<Activity>()(flow);

/** The posts of a replay whose first connection gets this reply, and all others complete ones. */
async function followedBy(first: Reply, window: Window, sent: readonly WirePost[], options = {}) {
  server.script.push(first);
  server.otherwise = wholeReplay(sent);
  return collected(posts(window, options));
}

describe('a replay', () => {
  it('delivers every activity of the window once, byte for byte, over several connections', async () => {
    const window = past(100);
    const sent = wirePosts(window);
    server.otherwise = wholeReplay(sent);
    const got = await collected(posts(window));
    expect(got.map(({ raw }) => raw.toString())).toEqual(sent.map(({ json }) => json));
    expect(server.received.map(windowOf).map(({ from, to }) => (to - from) / MINUTE)).toEqual([
      16, 32, 52,
    ]);
    expect(server.received[0]).toMatchObject({
      url: `/base/replay/rulestream/accounts/acme/publishers/twitter/prod.json?fromDate=${minuteOf(window.from)}&toDate=${minuteOf(window.from + 16 * MINUTE)}`,
      headers: { 'accept-encoding': 'gzip', accept: 'application/json' },
    });
  });

  it('uses the URL of its stream type, and gives events for compliance', async () => {
    const window = past(1);
    server.otherwise = wholeReplay([]);
    for (const streamType of ['sample10', 'firehose', 'mentions'] as const) {
      await collect()(posts(window, { streamType }));
      expect(server.received.at(-1)?.url).toContain(`/replay/${streamType}/accounts/`);
    }
    await collected(posts(window, {}, acme({ rulestream: 'powertrack' })));
    expect(server.received.at(-1)?.url).toContain('/replay/powertrack/accounts/');

    const event = '{"user_delete":{"id":9007199254740993,"timestamp_ms":"1432228153548"}}';
    server.script.push(stream([event, event, info(COMPLETED, 2)]));
    const flow = replay(acme(), {
      streamType: 'compliance',
      fromDate: new Date(window.from),
      toDate: new Date(window.to),
      folder,
    });
    expect(await collect()(flow)).toMatchObject([
      { kind: 'user_delete', userId: '9007199254740993' },
    ]);
  });

  it('treats text within a post that looks like an info message as text', async () => {
    const window = past(2);
    const sent = wirePosts(window);
    expect(sent[0]?.json).toContain('Replay Request Completed');
    server.otherwise = wholeReplay(sent);
    expect(idsOf(await collected(posts(window)))).toEqual(idsOf(sent));
  });

  it('waits for minutes in the future', async () => {
    const from = floorTo(MINUTE, Date.now() - 20 * MINUTE);
    const window = { from, to: from + 5 * MINUTE };
    const until = window.to + 30 * MINUTE;
    const untilMs = until - timing.now();
    // Real time passes meanwhile, more of it on a busy machine.
    const started = Date.now();
    const realMs = () => Date.now() - started;
    const sent = wirePosts(window);
    server.otherwise = judgedReplay(sent, timing.now);
    const waits: (ReplayWait & { readonly begunMs: number })[] = [];
    const flow = posts(window, { onWait: wait => waits.push({ ...wait, begunMs: realMs() }) });
    const progress = new Progress();
    const seen = new Set<number | undefined>();
    let endedMs = 0;
    const { sleep } = timing;
    timing.sleep = async (ms, signal) => {
      seen.add(progress.wait?.until.getTime());
      endedMs = realMs();
      await sleep(ms, signal);
    };
    const got: string[] = [];
    for await (const { items } of flow.batches({ progress }))
      got.push(...idsOf(items as Activity[]));
    expect(got).toEqual(idsOf(sent));
    const sleptMs = timing.slept.reduce((sum, ms) => sum + ms, 0);
    expect(Math.abs(endedMs + sleptMs - untilMs)).toBeLessThan(1000);
    // The first connection learns the service's time.
    expect(server.received.length).toBe(2);
    expect(waits.map(wait => [wait.reason, Math.round(wait.until.getTime() / 1000)])).toEqual([
      ['too recent', until / 1000],
    ]);
    const [{ begunMs, waitMs }] = waits as [(typeof waits)[0]];
    expect(Math.abs(begunMs + waitMs - untilMs)).toBeLessThan(1000);
    expect([...seen].every(at => Math.abs((at ?? 0) - until) < 1000)).toBe(true);
    expect(progress.wait).toBe(undefined);
  });

  it('shows one wait for a retry, although the timer ends early', async () => {
    const window = past(2);
    server.script.push(status(503));
    server.otherwise = wholeReplay(wirePosts(window));
    const { sleep } = timing;
    timing.sleep = (ms, signal) => sleep(ms > 100 ? ms / 2 : ms, signal);
    const waits: Wait[] = [];
    const progress = new Progress();
    const { onWait } = progress;
    Object.assign(progress, {
      onWait: (wait: Wait) => {
        waits.push(wait);
        return onWait(wait);
      },
    });
    for await (const _ of posts(window).batches({ progress }));
    expect(timing.slept.length).toBeGreaterThan(1);
    expect(waits).toMatchObject([{ reason: 'retry', retry: 1, error: { status: 503 } }]);
    expect(progress.wait).toBe(undefined);
  });

  it('reports the wait for the connection limit', async () => {
    const window = past(200);
    server.otherwise = wholeReplay(wirePosts(window, 1));
    const waits: ReplayWait[] = [];
    const timings = { maxChunkMs: 16 * MINUTE };
    await collected(posts(window, { timings, onWait: wait => waits.push(wait) }));
    expect(new Set(waits.map(({ reason }) => reason))).toEqual(new Set(['connect limit']));
    expect(waits.every(({ waitMs }) => waitMs > 0)).toBe(true);
  });

  it('takes seven connections for a day, and says at the wait for their limit how long it takes', async () => {
    const window = past(24 * 60);
    const sent = wirePosts(window, 1, 'x');
    server.otherwise = wholeReplay(sent);
    // Only waits take time: on a busy machine, the second connection is further behind the first than the seventh
    // behind the sixth, so the seventh rightly waits, too.
    const now = timing.now();
    const elapsed = timing.elapsed();
    const sleptMs = () => timing.slept.reduce((sum, ms) => sum + ms, 0);
    timing.now = () => now + sleptMs();
    timing.elapsed = () => elapsed + sleptMs();
    const waits: ReplayWait[] = [];
    const progress = new Progress();
    const left: (number | undefined)[] = [];
    const onWait = (wait: ReplayWait) => {
      waits.push(wait);
      left.push(progress.leftMs);
    };
    let delivered = 0;
    for await (const { items } of posts(window, { onWait }).batches({ progress }))
      delivered += items.length;
    expect(delivered).toBe(sent.length);
    expect(server.received.map(windowOf).map(({ from, to }) => (to - from) / MINUTE)).toEqual([
      ...[16, 32, 64, 128, 256, 512, 432],
    ]);
    expect(waits.map(({ reason }) => reason)).toEqual(['connect limit']);
    const [{ waitMs, leftMs = 0 }] = waits as [ReplayWait];
    expect(leftMs).toBeGreaterThanOrEqual(waitMs);
    expect(leftMs).toBeLessThan(waitMs + 2 * MINUTE);
    // The display counts down from the same estimate.
    expect(left[0]).toBeGreaterThan(leftMs - MINUTE);
    expect(left[0]).toBeLessThanOrEqual(leftMs);
  });

  it('keeps the ranges short of which one has put much on disk', async () => {
    const window = past(100);
    const sent = wirePosts(window);
    server.otherwise = wholeReplay(sent);
    const minuteBytes = sent.reduce((sum, { json }) => sum + Buffer.byteLength(json) + 2, 0) / 100;
    expect(idsOf(await collected(posts(window, { maxDisk: 20 * minuteBytes })))).toEqual(
      idsOf(sent),
    );
    const lengths = server.received.map(windowOf).map(({ from, to }) => (to - from) / MINUTE);
    expect(lengths[0]).toBe(16);
    // The separators of records count, too.
    expect(Math.max(...lengths)).toBeLessThan(25);
  });
});

describe('a connection of a replay', () => {
  const window = past(1);
  const sent = wirePosts(window, 1, 'ö');
  const whole = [...sent.map(({ json }) => json), info(COMPLETED, sent.length)];

  it.each(['reset', 'closed', 'ended'] as const)(
    'loses nothing if it is %s after any byte',
    async how => {
      const wire = Buffer.concat(await wireOf(whole));
      const patient = acme({ limits: { replay: [] } });
      for (
        let bytes = 0;
        bytes < wire.length;
        bytes += bySuite(how === 'ended' ? 3 : 12, how === 'ended' ? 1 : 4)
      ) {
        const before = server.received.length;
        server.script.push(async response => {
          begin(response);
          if (bytes > 0) await send(response, wire.subarray(0, bytes));
          if (how === 'ended') response.end();
          else if (how === 'closed') response.socket?.destroy();
          else response.socket?.resetAndDestroy();
        });
        server.otherwise = wholeReplay(sent);
        expect(idsOf(await collected(posts(window, {}, patient)))).toEqual(idsOf(sent));
        expect(server.received.length - before).toBeLessThanOrEqual(2);
      }
      expect(server.received.length).toBeGreaterThan(wire.length / bySuite(12, 4));
    },
  );

  it('delivers records that are split at any byte', async () => {
    const wire = Buffer.concat(await wireOf(whole));
    const patient = acme({ limits: { replay: [] } });
    for (let at = 1; at < wire.length; at += bySuite(3, 1)) {
      server.script.push(async response => {
        begin(response);
        response.socket?.setNoDelay();
        await send(response, wire.subarray(0, at));
        response.end(wire.subarray(at));
      });
      expect(idsOf(await collected(posts(window, {}, patient)))).toEqual(idsOf(sent));
    }
  });

  it('loses nothing if it ends cleanly but without its last message', async () => {
    const got = await followedBy(stream([sent[0]?.json ?? '']), window, sent);
    expect(idsOf(got)).toEqual(idsOf(sent));
    expect(server.received.length).toBe(2);
  });

  it('loses nothing if its checksum is wrong, although its last message has arrived', async () => {
    const wire = Buffer.concat(await wireOf(whole));
    const crc = wire.length - 8;
    wire[crc] = (wire[crc] as number) ^ 1;
    const progress = new Progress();
    server.script.push(async response => {
      begin(response);
      await send(response, wire.subarray(0, crc));
      // The last message is read before the checksum arrives.
      await vi.waitFor(() => expect(progress.receivedBytes).toBe(crc), { timeout: 20_000 });
      response.end(wire.subarray(crc));
    });
    server.otherwise = wholeReplay(sent);
    const got: string[] = [];
    for await (const { items } of posts(window).batches({ progress }))
      got.push(...idsOf(items as Activity[]));
    expect(got).toEqual(idsOf(sent));
    expect(server.received.length).toBe(2);
  });

  it('loses nothing if it ends with an error message', async () => {
    const error =
      '{"error":{"message":"Force closing connection","sent":"2017-01-11T17:04:13+00:00"}}';
    const retried: string[] = [];
    server.script.push(stream([sent[0]?.json ?? '', error]), stream([error]));
    server.otherwise = wholeReplay(sent);
    const watched = acme({ onRetry: ({ error: { message } }) => retried.push(message) });
    expect(idsOf(await collected(posts(window, {}, watched)))).toEqual(idsOf(sent));
    expect(retried.join()).toContain('Force closing connection');
  });

  it('loses nothing if a byte is damaged', async () => {
    const wire = Buffer.concat(await wireOf(whole));
    for (const at of [30, Math.floor(wire.length / 2), wire.length - 6]) {
      const damaged = Buffer.from(wire);
      damaged[at] = (damaged[at] ?? 0) ^ 0x10;
      const got = await followedBy(
        response => {
          begin(response);
          response.end(damaged);
        },
        window,
        sent,
      );
      expect(got.map(({ raw }) => raw.toString())).toEqual(sent.map(({ json }) => json));
    }
  });

  it('loses nothing if it becomes silent, without even heartbeats', async () => {
    const patience = { connectMs: 5_000, responseMs: 5_000, silenceMs: 600 };
    const pieces = await wireOf(['', '', '', '', sent[0]?.json ?? ''], { trailer: false });
    server.script.push(async response => {
      begin(response);
      for (const piece of pieces) {
        await send(response, piece);
        await new Promise(resolve => setTimeout(resolve, 100));
      }
    });
    server.otherwise = wholeReplay(sent);
    const got = await collected(posts(window, {}, acme({ timeouts: patience })));
    expect(idsOf(got)).toEqual(idsOf(sent));
    expect(server.received.length).toBe(2);
  });

  it('makes the next one request a shorter range if it breaks', async () => {
    const long = past(40);
    const many = wirePosts(long, 1);
    expect(idsOf(await followedBy(stream([]), long, many))).toEqual(idsOf(many));
    expect(server.received.map(windowOf).map(({ from, to }) => (to - from) / MINUTE)).toEqual([
      16, 8, 16, 16,
    ]);
  });
});

describe('a record that takes long to arrive', () => {
  const window = past(1);
  const sent = wirePosts(window, 1, 'x'.repeat(200));
  const whole = [...sent.map(({ json }) => json), info(COMPLETED, sent.length)];

  it('counts as received bytes while it arrives', async () => {
    const wire = Buffer.concat(await wireOf(whole));
    const progress = new Progress();
    let arrived = 0;
    server.otherwise = async response => {
      begin(response);
      await send(response, wire.subarray(0, 60));
      await vi.waitFor(() => expect(progress.receivedBytes).toBe(60), { timeout: 20_000 });
      arrived = progress.received;
      response.end(wire.subarray(60));
    };
    let delivered = 0;
    for await (const { items } of posts(window).batches({ progress })) delivered += items.length;
    expect([arrived, delivered, progress.received]).toEqual([0, sent.length, sent.length]);
    expect(progress.receivedBytes).toBe(wire.length);
  });

  it('and has no end: the connection is given up, reported, and made again', async () => {
    const retried: unknown[] = [];
    const of = acme({ onRetry: ({ error }) => retried.push(error) });
    server.script.push(async response => {
      begin(response);
      const gzip = createGzip({ level: 1 });
      gzip.pipe(response);
      const block = Buffer.alloc(1024 * 1024, 'x');
      gzip.write('{"id":1,"text":"');
      while (!response.destroyed)
        if (!gzip.write(block)) await new Promise(resolve => setImmediate(resolve));
      gzip.destroy();
    });
    server.otherwise = wholeReplay(sent);
    expect(idsOf(await collected(posts(window, {}, of)))).toEqual(idsOf(sent));
    expect(server.received.length).toBe(2);
    expect(retried).toMatchObject([{ code: 'ERR_DATA' }]);
    expect(String(retried[0])).toContain('has no end within');
  });
});

describe('the last message of a connection', () => {
  it('with failed minutes: they are requested again, and no post is delivered twice', async () => {
    const window = past(6);
    const sent = wirePosts(window, 3);
    const failed = [window.from + MINUTE, window.from + 2 * MINUTE, window.from + 4 * MINUTE];
    const part = sent.filter(({ minute }, index) => !failed.includes(minute) || index % 3 === 0);
    const messages = part.map(({ json }) => json);
    const end = info(WITH_ERRORS, part.length, { minutes_failed: failed.map(formatSent) });
    const got = await followedBy(stream([...messages, end]), window, sent);
    expect(idsOf(got).toSorted()).toEqual(idsOf(sent).toSorted());
    expect(server.received.slice(1).map(windowOf)).toEqual([
      { from: failed[0], to: (failed[1] ?? 0) + MINUTE },
      { from: failed[2], to: (failed[2] ?? 0) + MINUTE },
    ]);
  });

  it('with failed minutes of the compliance stream: no event is delivered twice, whatever its time', async () => {
    const window = past(6);
    const events = Array.from({ length: 12 }, (_, n) => ({
      minute: window.from + (n >> 1) * MINUTE,
      json: `{"delete":{"status":{"id_str":"${n}"},"timestamp_ms":"1432228155593"}}`,
      id: String(n),
    }));
    const failed = [window.from + 2 * MINUTE];
    const end = info(WITH_ERRORS, events.length, { minutes_failed: failed.map(formatSent) });
    server.script.push(stream([...events.map(({ json }) => json), end]));
    server.otherwise = wholeReplay(events);
    const got = await collected(posts(window, { streamType: unchecked('compliance') }));
    expect(got.map(({ raw }) => String(raw))).toEqual(events.map(({ json }) => json));
  });

  it('with failed minutes: only ids of these minutes are remembered, and of records without a time', async () => {
    const window = past(40);
    const events = Array.from({ length: 40 }, (_, n) => ({
      minute: window.from + n * MINUTE,
      json: `{"delete":{"status":{"id_str":"${n}"},"timestamp_ms":"1"}}`,
      id: String(n),
    }));
    const end = info(WITH_ERRORS, 8, { minutes_failed: [formatSent(window.from + 2 * MINUTE)] });
    server.script.push(stream([...events.slice(0, 8).map(({ json }) => json), end]));
    server.otherwise = wholeReplay(events);
    const options = { streamType: unchecked('compliance'), timings: { firstChunkMs: 8 * MINUTE } };
    const kept: number[] = [];
    let count = 0;
    for await (const { items, cursor } of posts(window, options).batches()) {
      count += items.length;
      if (cursor !== undefined) kept.push(JSON.stringify(cursor.ids).length);
    }
    expect(count).toBe(40);
    expect(kept[0]).toBeGreaterThan('{}'.length);
    expect(Math.max(...kept)).toBe(kept[0]);
    expect(kept.length).toBeGreaterThan(2);
    expect(kept.at(-1)).toBe('{}'.length);
  });

  it('with an unprocessed range: it is requested again', async () => {
    const window = past(10);
    const sent = wirePosts(window);
    const rest = { from: window.from + 4 * MINUTE, to: window.to };
    const part = sent.filter(({ minute }) => minute < rest.from).map(({ json }) => json);
    const range = { fromDate: formatSent(rest.from + 20_000), toDate: formatSent(rest.to) };
    const end = info(FAILED, part.length, { unprocessed_range: range });
    expect(idsOf(await followedBy(stream([...part, end]), window, sent))).toEqual(idsOf(sent));
    expect(windowOf(unchecked(server.received[1]))).toEqual(rest);
  });

  it('with the count: the range is confirmed if it agrees, and requested again otherwise', async () => {
    const window = past(3);
    const sent = wirePosts(window);
    const less = sent.slice(1).map(({ json }) => json);
    const got = await followedBy(stream([...less, info(COMPLETED, sent.length)]), window, sent);
    expect(idsOf(got)).toEqual(idsOf(sent));
  });

  it('with the count: three wrong counts are a gap, and everything received is delivered', async () => {
    const window = past(3);
    const sent = wirePosts(window);
    server.otherwise = stream([...sent.map(({ json }) => json), info(COMPLETED, 7)]);
    const got: Activity[] = [];
    const error = await (async () => {
      for await (const post of posts(window) as AsyncIterable<Activity>) got.push(post);
    })().catch(e => e);
    expect(idsOf(got)).toEqual(idsOf(sent));
    expect(error).toBeInstanceOf(IncompleteError);
    expect(error.missing).toEqual([
      `${minuteOf(window.from)} to ${minuteOf(window.to)} (unverified)`,
    ]);
    expect(server.received.length).toBe(3);

    const gaps: unknown[] = [];
    await collected(posts(window, { onGap: gap => gaps.push(gap) }));
    expect(gaps).toEqual([
      { fromDate: minuteOf(window.from), toDate: minuteOf(window.to), reason: 'unverified' },
    ]);
  });

  it('with failures of many ranges: each becomes a gap', async () => {
    const window = past(240);
    const sent = wirePosts(window);
    const bad = [20, 60, 100, 140].map(n => window.from + n * MINUTE);
    const gaps: unknown[] = [];
    server.otherwise = async (response, request) => {
      const some = within(sent, windowOf(request));
      const end = info(COMPLETED, some.length + 1);
      await stream([...some.map(({ json }) => json), end])(response, request);
    };
    const all = await collected(posts(window, { onGap: gap => gaps.push(gap) }));
    expect(idsOf(all)).toEqual(idsOf(sent));
    expect(gaps.splice(0)).toEqual([
      { fromDate: minuteOf(window.from), toDate: minuteOf(window.to), reason: 'unverified' },
    ]);

    server.otherwise = async (response, request) => {
      const asked = within(sent, windowOf(request));
      const some = asked.filter(({ minute }) => !bad.includes(minute));
      const failed = [...new Set(asked.map(({ minute }) => minute))].filter(minute =>
        bad.includes(minute),
      );
      const end =
        failed.length > 0
          ? info(WITH_ERRORS, some.length, { minutes_failed: failed.map(formatSent) })
          : info(COMPLETED, some.length);
      await stream([...some.map(({ json }) => json), end])(response, request);
    };
    const most = await collected(posts(window, { onGap: gap => gaps.push(gap) }));
    expect(idsOf(most)).toEqual(idsOf(sent.filter(({ minute }) => !bad.includes(minute))));
    expect(gaps).toEqual(
      bad.map(at => ({ fromDate: minuteOf(at), toDate: minuteOf(at + MINUTE), reason: 'failed' })),
    );
  });

  it('with a minute that always fails: it becomes a gap, after everything else', async () => {
    const window = past(4);
    const sent = wirePosts(window);
    const bad = window.from + MINUTE;
    server.otherwise = async (response, request) => {
      const asked = windowOf(request);
      const some = within(sent, asked).filter(({ minute }) => minute !== bad);
      const end =
        asked.from <= bad && bad < asked.to
          ? info(WITH_ERRORS, some.length, { minutes_failed: [formatSent(bad)] })
          : info(COMPLETED, some.length);
      await stream([...some.map(({ json }) => json), end])(response, request);
    };
    const gaps: unknown[] = [];
    const got = await collected(posts(window, { onGap: gap => gaps.push(gap) }));
    expect(idsOf(got)).toEqual(idsOf(sent.filter(({ minute }) => minute !== bad)));
    expect(gaps).toEqual([
      { fromDate: minuteOf(bad), toDate: minuteOf(bad + MINUTE), reason: 'failed' },
    ]);
  });
});

describe('a connection that is refused', () => {
  const window = past(2);
  const sent = wirePosts(window);

  it.each([
    ['503', status(503)],
    ['500 with Retry-After', status(500, '', { 'retry-after': '7' })],
    ['429', status(429, '{"error":{"message":"Exceeded"}}')],
    ['a reset', reset],
  ] as const)('%s: is retried', async (_, refusal) => {
    expect(idsOf(await followedBy(refusal, window, sent))).toEqual(idsOf(sent));
    expect(timing.slept.length).toBeGreaterThan(0);
  });

  it('429: waits for Retry-After, or five minutes without it', async () => {
    await followedBy(status(429, '', { 'retry-after': '77' }), window, sent);
    expect(timing.slept.map(ms => Math.round(ms / 1000))).toEqual([77]);
    timing.slept.length = 0;
    await followedBy(status(429), window, sent);
    expect(timing.slept.map(ms => Math.round(ms / 1000))).toEqual([300]);
  });

  it('is an error if Retry-After exceeds the bound of the account', async () => {
    for (const code of [503, 429]) {
      server.script.push(status(code, '', { 'retry-after': '3600' }));
      const error = await collected(posts(window)).catch(e => e);
      expect(error).toBeInstanceOf(HttpError);
      expect(error).toMatchObject({ status: code, retryAfterMs: 3_600_000 });
    }
    expect(timing.slept).toEqual([]);
  });

  it('ends the replay with the error that the promise of `onWait`, `onGap` or `onDamaged` rejects with', async () => {
    const failure = new Error('no room in the log');
    const reject = () => Promise.reject(failure);
    server.otherwise = wholeReplay(wirePosts(window));
    const soon = { from: window.from, to: floorTo(MINUTE, Date.now()) + HOUR };
    await expect(collected(posts(soon, { onWait: reject }))).rejects.toBe(failure);
    const old = { from: window.from - 7 * DAY, to: window.from - 7 * DAY + MINUTE };
    const known = acme({ serviceTime: () => Date.now() });
    await expect(collected(posts(old, { onGap: reject }, known))).rejects.toBe(failure);
    server.otherwise = stream(['{"id":1', info(COMPLETED, 1)]);
    await expect(collected(posts(window, { onDamaged: reject }))).rejects.toBe(failure);
  });

  it('401, 404: an error immediately', async () => {
    const texts = [
      [401, 'Unauthorized'],
      [404, 'Not Found'],
    ] as const;
    for (const [code, text] of texts) {
      server.script.push(status(code, JSON.stringify({ error: { message: text } })));
      const error = await collected(posts(window)).catch(e => e);
      expect(error).toBeInstanceOf(HttpError);
      expect(error.status).toBe(code);
      expect(error.message).not.toContain('secret-password');
    }
    expect(server.received.length).toBe(2);
  });

  it('401 in the middle: an error with the cursor from which another run delivers the rest, and nothing else', async () => {
    const long = past(100);
    const all = wirePosts(long);
    const before: string[] = [];
    const read = async (options?: Partial<ReplayOptions>) => {
      for await (const { id } of posts(long, options)) before.push(id);
    };
    server.script.push(wholeReplay(all), status(401));
    const error = await read().catch(e => e);
    expect(error).toBeInstanceOf(HttpError);
    expect(before.length).toBeGreaterThan(0);
    server.otherwise = wholeReplay(all);
    const rest = await collected(
      posts(long, { resume: JSON.parse(JSON.stringify(error.cursor)) as Cursor }),
    );
    expect([...before, ...idsOf(rest)]).toEqual(idsOf(all));
  });

  it.each([
    [400, 'Bad Request'],
    [406, 'Please update your client'],
    [406, 'Invalid date'],
  ] as const)(
    '%i "%s": is retried, reported to onRetry, and thrown after five tries',
    async (code, text) => {
      const retried: number[] = [];
      const watched = acme({ onRetry: ({ waitMs }) => retried.push(waitMs) });
      server.script.push(status(code, JSON.stringify({ error: { message: text } })));
      server.otherwise = wholeReplay(sent);
      expect(idsOf(await collected(posts(window, {}, watched)))).toEqual(idsOf(sent));
      expect(retried.length).toBe(1);

      server.otherwise = status(code, JSON.stringify({ error: { message: text } }));
      const error = await collected(posts(window, {}, watched)).catch(e => e);
      expect(error).toBeInstanceOf(HttpError);
      expect(error).toMatchObject({ status: code, body: text });
      expect(server.received.length).toBe(2 + 5);
      expect(retried.length).toBe(1 + 4);
    },
  );

  it('406 before each of many connections that complete: is retried, however many they are', async () => {
    const long = past(600);
    const all = wirePosts(long);
    let refused = 0;
    server.otherwise = (response, request) => {
      if (server.received.length % 2 === 0) return wholeReplay(all)(response, request);
      refused++;
      return status(406, 'Please update your client')(response, request);
    };
    expect(idsOf(await collected(posts(long)))).toEqual(idsOf(all));
    expect(refused).toBeGreaterThan(5);
  });

  it('406 because the stream has no rules: an error immediately, as connecting again adds none', async () => {
    const text = 'There are no rules for this stream. Add rules before connecting.';
    server.otherwise = status(406, JSON.stringify({ error: { message: text } }));
    const error = await collected(posts(window)).catch(e => e);
    expect(error).toBeInstanceOf(HttpError);
    expect(error).toMatchObject({ status: 406, body: text });
    expect(server.received.length).toBe(1);
    expect(timing.slept).toEqual([]);
  });

  it('406 that names a date far from both limits: a refusal, with bounded waits reported to onRetry', async () => {
    let waitedMs = 0;
    const watched = acme({
      onRetry: ({ waitMs }) => {
        waitedMs += waitMs;
      },
    });
    server.now = timing.now;
    server.otherwise = status(
      406,
      '{"error":{"message":"Invalid date for query parameter \'toDate\'."}}',
    );
    const noon = floorTo(MINUTE, Date.now() - 2 * DAY);
    const far = { from: noon, to: noon + 2 * MINUTE };
    const error = await collected(posts(far, {}, watched)).catch(e => e);
    expect(error).toBeInstanceOf(IncompleteError);
    expect(server.received.length).toBe(20);
    expect(waitedMs).toBeGreaterThan(MINUTE);
    expect(waitedMs).toBeLessThan(2 * HOUR);
  });

  it('406 for a date: requests what the other clock allows', async () => {
    // The service's clock is seven minutes behind ours.
    const from = floorTo(MINUTE, Date.now() - 40 * MINUTE);
    const young = { from, to: from + 8 * MINUTE };
    const fresh = wirePosts(young);
    server.otherwise = async (response, request) => {
      const theirs = timing.now() - 7 * MINUTE;
      const asked = windowOf(request);
      if (asked.to <= theirs - 30 * MINUTE && asked.from <= theirs - 31 * MINUTE)
        return wholeReplay(fresh)(response, request);
      const message =
        "Invalid date for query parameter 'toDate'. Can't ask for tweets from within the past 30 minutes.";
      return status(406, JSON.stringify({ error: { message } }))(response, request);
    };
    expect(idsOf(await collected(posts(young)))).toEqual(idsOf(fresh));
  });

  it('permanently: gives up with the missing ranges, the reason, and a cursor to continue from', async () => {
    server.otherwise = status(503);
    const error = await collected(posts(window, { timings: { attempts: 4 } })).catch(e => e);
    expect(error).toBeInstanceOf(IncompleteError);
    expect(error.retryable).toBe(true);
    expect(error.missing).toEqual([`${minuteOf(window.from)} to ${minuteOf(window.to)}`]);
    expect(error.message).toContain('503');
    expect(error.message).toMatch(/Missing: .*\. Run it again later$/);
    expect(server.received.length).toBe(4);
    const long = past(100);
    server.script.push(wholeReplay(wirePosts(long)));
    const late = await collected(posts(long, { timings: { attempts: 4 } })).catch(e => e);
    expect(late.cursor).toBeDefined();
    expect(late.message).toMatch(
      /later; without a checkpoint, pass the cursor of this error as `resume`$/,
    );
  });
});

describe('minutes older than five days', () => {
  it('are a gap that is reported after everything else is delivered', async () => {
    const from = floorTo(MINUTE, Date.now() - 5 * DAY - 3 * MINUTE);
    const window = { from, to: from + 20 * MINUTE };
    const sent = wirePosts(window);
    server.otherwise = judgedReplay(sent, timing.now);
    const gaps: { fromDate: string; toDate: string }[] = [];
    const got = await collected(posts(window, { onGap: gap => gaps.push(gap) }));
    expect(gaps).toMatchObject([{ fromDate: minuteOf(from), reason: 'expired' }]);
    const there = sent.filter(({ minute }) => minuteOf(minute) >= (gaps[0]?.toDate ?? ''));
    expect(idsOf(got)).toEqual(idsOf(there));
    expect(there.length).toBeGreaterThan(20);
  });
});

describe('the clock of the service', () => {
  it.each([-700 * DAY, -9 * DAY, 9 * DAY, 700 * DAY])(
    'decides which minutes can be replayed, %i ms off the local clock',
    async offsetMs => {
      server.now = () => timing.now() + offsetMs;
      const shifted = past(20);
      const window = { from: shifted.from + offsetMs, to: shifted.to + offsetMs };
      const sent = wirePosts(window);
      server.otherwise = judgedReplay(sent, server.now);
      expect(idsOf(await collected(posts(window)))).toEqual(idsOf(sent));
      expect(timing.slept).toEqual([]);
    },
  );

  it.each([-6 * 365 * DAY, 4 * 365 * DAY])(
    'is asked again by a replay, as it may have been moved by %i ms since the account learned it',
    async offsetMs => {
      const of = acme();
      let movedMs = 0;
      server.now = () => timing.now() + movedMs;
      const now = past(2);
      server.otherwise = judgedReplay(wirePosts(now), server.now);
      await collected(posts(now, {}, of));
      movedMs = offsetMs;
      const window = { from: now.from + offsetMs, to: now.to + offsetMs };
      const sent = wirePosts(window);
      server.otherwise = judgedReplay(sent, server.now);
      expect(idsOf(await collected(posts(window, {}, of)))).toEqual(idsOf(sent));
      expect(server.received.length).toBe(2);
    },
  );

  it('says which `toDate` is too far ahead: the service is asked first, unless its time is given', async () => {
    const far = { ...past(2), to: Date.now() + 367 * DAY };
    const of = acme({ serviceTime: timing.now });
    expect(() => posts(far, {}, of)).toThrow(OptionError);
    expect(server.received).toEqual([]);
    server.now = timing.now;
    server.otherwise = judgedReplay([], server.now);
    const error = await collected(posts(far)).catch(e => e);
    expect(error).toBeInstanceOf(OptionError);
    expect(error.message).toContain('`toDate` must be at most 366 days ahead');
    expect(server.received.length).toBe(1);
  });

  it('may be changed while a replay waits', async () => {
    let offsetMs = 0;
    server.now = () => timing.now() + offsetMs;
    const to = floorTo(MINUTE, Date.now()) + 3 * HOUR;
    const window = { from: to - 4 * MINUTE, to };
    const sent = wirePosts(window);
    server.otherwise = judgedReplay(sent, server.now);
    const waits: ReplayWait[] = [];
    const onWait = (wait: ReplayWait) => {
      waits.push(wait);
      offsetMs = 4 * HOUR;
    };
    const of = acme({ serviceTime: server.now });
    expect(idsOf(await collected(posts(window, { onWait }, of)))).toEqual(idsOf(sent));
    expect(waits.length).toBe(1);
    expect(timing.slept.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(10_000);
  });

  it('allows the oldest minute of the five days', async () => {
    server.now = () => Date.UTC(2024, 4, 15, 12, 0, 59);
    const from = Date.UTC(2024, 4, 10, 12);
    const window = { from, to: from + 2 * MINUTE };
    const sent = wirePosts(window);
    server.otherwise = judgedReplay(sent, server.now);
    expect(idsOf(await collected(posts(window, {}, acme({ serviceTime: server.now }))))).toEqual(
      idsOf(sent),
    );
  });
});

/** A timing without waits; one part of some connections takes 5 seconds of it. */
function slowConnections(
  part: 'storing its time' | 'opening it',
  isSlow: (index: number) => boolean,
) {
  let now = Date.now();
  let count = 0;
  const pass = () => {
    if (isSlow(count++)) now += 5_000;
  };
  const { add } = ConnectLog.prototype;
  const { onRequestStart } = ResponseHandler.prototype;
  if (part === 'storing its time')
    vi.spyOn(ConnectLog.prototype, 'add').mockImplementation(async function (this: ConnectLog, at) {
      await add.call(this, at);
      pass();
    });
  else
    vi.spyOn(ResponseHandler.prototype, 'onRequestStart').mockImplementation(function (
      this: ResponseHandler,
      controller,
    ) {
      pass();
      onRequestStart.call(this, controller);
    });
  onTestFinished(() => {
    vi.restoreAllMocks();
  });
  return {
    now: () => now,
    elapsed: () => now,
    random: () => 0.5,
    async sleep(ms: number) {
      now += ms;
    },
  };
}

describe('the budget of five connections in five minutes', () => {
  it('is kept by one run', async () => {
    const window = past(200);
    server.otherwise = wholeReplay(wirePosts(window, 1));
    await collected(posts(window, { timings: { maxChunkMs: 16 * MINUTE } }));
    expect(server.received.length).toBe(13);
    // The time that the run itself takes shortens its waits.
    const sleptMs = timing.slept.reduce((sum, ms) => sum + ms, 0);
    expect(sleptMs).toBeGreaterThan(1.5 * 300_000);
  });

  it.each([
    ['storing its time', (index: number) => index % 4 === 0],
    // The third of seven: the next run may connect once it no longer counts.
    ['opening it', (index: number) => index % 7 === 2],
  ] as const)('is kept where some connections take seconds for %s', async (part, isSlow) => {
    const window = past(200);
    const slow = slowConnections(part, isSlow);
    const arrived: number[] = [];
    const answer = wholeReplay(wirePosts(window, 1));
    server.otherwise = (...exchange) => {
      arrived.push(slow.now());
      return answer(...exchange);
    };
    const middle = window.from + 100 * MINUTE;
    const runs: [Window, number][] = [
      [{ ...window, to: middle }, 0],
      // The times of the first run are over by its monotonic clock, so that it knows only the file.
      [{ ...window, from: middle }, DAY],
    ];
    for (const [half, aheadMs] of runs) {
      const of = acme({ timing: { ...slow, elapsed: () => slow.now() + aheadMs } });
      await collected(posts(half, { timings: { maxChunkMs: 16 * MINUTE } }, of));
    }
    expect(arrived.length).toBe(14);
    for (const at of arrived)
      expect(arrived.filter(other => other >= at && other < at + 300_000).length).toBeLessThan(6);
  });

  it('is kept after runs that stopped because the time of a connection could not be stored', async () => {
    const window = past(2);
    const slow = slowConnections('storing its time', () => true);
    const move = vi.spyOn(ConnectLog.prototype, 'move');
    const sent = wirePosts(window);
    const arrived: number[] = [];
    const answer = wholeReplay(sent);
    server.otherwise = (...exchange) => {
      arrived.push(slow.now());
      return answer(...exchange);
    };
    const run = () => collected(posts(window, {}, acme({ timing: slow })));
    const full = new StorageError('ENOSPC', { path: folder });
    for (let i = 0; i < 5; i++) {
      move.mockRejectedValueOnce(full);
      await expect(run()).rejects.toThrow('ENOSPC');
    }
    expect(idsOf(await run())).toEqual(idsOf(sent));
    expect(arrived.length).toBe(6);
    expect(arrived[5]! - arrived[0]!).toBeGreaterThanOrEqual(300_000);
  });

  it('is kept after a run that is aborted: it ends once the time of its connection is stored', async () => {
    const slow = slowConnections('opening it', () => true);
    const { move } = ConnectLog.prototype;
    let stored = 0;
    vi.spyOn(ConnectLog.prototype, 'move').mockImplementation(async function (
      this: ConnectLog,
      ...times
    ) {
      await new Promise(resolve => setTimeout(resolve, 20));
      await move.apply(this, times);
      stored++;
    });
    const abort = new AbortController();
    server.otherwise = () => abort.abort(new Error('stopped'));
    const run = async () => {
      const flow = posts(past(2), {}, acme({ timing: slow }));
      for await (const _ of flow.batches({ signal: abort.signal }));
    };
    await expect(run()).rejects.toThrow('stopped');
    expect(stored).toBe(1);
  });

  it('is kept after a run that its consumer or a callback ends: it ends once the connection begun meanwhile has stored its time', async () => {
    let [begun, stored] = [0, 0];
    const { add } = ConnectLog.prototype;
    vi.spyOn(ConnectLog.prototype, 'add').mockImplementation(async function (this: ConnectLog, at) {
      begun++;
      if (begun > 1) await new Promise(resolve => setTimeout(resolve, 50));
      await add.call(this, at);
      stored++;
    });
    onTestFinished(() => void vi.restoreAllMocks());
    server.otherwise = stream(['{"id":1', info(COMPLETED, 1)]);
    const timings = { firstChunkMs: MINUTE, maxChunkMs: MINUTE };
    const onDamaged = () => Promise.reject(new Error('no damage, please'));
    await expect(collected(posts(past(5), { timings, onDamaged }))).rejects.toThrow('no damage');
    expect(begun).toBe(2);
    expect(stored).toBe(begun);
  });

  it('is kept if the process is killed in every connection and started again', async () => {
    const window = past(2);
    let now = Date.now();
    const connects: number[] = [];
    server.otherwise = () => {};
    for (let run = 0; run < 7; run++) {
      const restart = new AbortController();
      const waits: number[] = [];
      // A new process cannot use the monotonic clock of the previous one.
      const fresh = {
        now: () => now,
        elapsed: () => performance.now(),
        random: () => 0.5,
        async sleep(ms: number) {
          waits.push(ms);
          now += ms;
        },
      };
      server.otherwise = () => {
        connects.push(now);
        restart.abort(new Error('killed'));
      };
      const flow = posts(window, {}, acme({ timing: fresh }));
      await expect(
        (async () => {
          for await (const _ of flow.batches({ signal: restart.signal }));
        })(),
      ).rejects.toThrow('killed');
    }
    expect(connects.length).toBe(7);
    for (const at of connects)
      expect(connects.filter(other => other >= at && other < at + 300_000).length).toBeLessThan(6);
  });
});

describe('a consumer', () => {
  it('that is slow does not slow down the connection: waiting records go to disk', async () => {
    const window = past(16);
    const sent = wirePosts(window, 40);
    const done: number[] = [];
    server.otherwise = async (response, request) => {
      response.on('finish', () => done.push(1));
      await wholeReplay(sent)(response, request);
    };
    const flow = posts(window, { maxMemory: 10_000, timings: { firstChunkMs: 8 * MINUTE } });
    const got: Activity[] = [];
    for await (const post of flow as AsyncIterable<Activity>) {
      if (got.length === 0) {
        // Both connections end although nothing is consumed.
        const until = Date.now() + 60_000;
        while (done.length < 2 && Date.now() < until)
          await new Promise(resolve => setTimeout(resolve, 5));
        expect(done.length).toBe(2);
      }
      got.push(post);
    }
    expect(got.map(({ raw }) => raw.toString())).toEqual(sent.map(({ json }) => json));
    expect((await readdir(folder)).filter(name => name.startsWith('spool'))).toEqual([]);
  });

  it('whose disk is full gets an error immediately, and no other connection is made', async () => {
    const window = past(4);
    server.otherwise = wholeReplay(wirePosts(window));
    const full = new StorageError('ENOSPC', { path: folder, retryable: true });
    const add = vi.spyOn(ReplaySpool.prototype, 'add').mockRejectedValue(full);
    await expect(collected(posts(window))).rejects.toBe(full);
    expect(server.received.length).toBe(1);
    add.mockRestore();
  });

  it('that stops early, or aborts during a wait, ends everything immediately', async () => {
    const window = past(200);
    server.otherwise = wholeReplay(wirePosts(window, 50));
    for await (const _ of posts(window, { maxMemory: 0 })) break;
    expect(await server.closed()).toBeLessThan(AT_ONCE_MS);
    expect((await readdir(folder)).filter(name => name.startsWith('spool'))).toEqual([]);

    server.otherwise = status(503);
    const stop = new AbortController();
    const asleep = acme({
      timing: {
        ...timing,
        sleep: (_ms, signal) =>
          new Promise((_, reject) => {
            signal?.addEventListener('abort', () => reject(signal.reason));
            setTimeout(() => stop.abort(new Error('enough')), 10);
          }),
      },
    });
    const flow = posts(window, {}, asleep).batches({ signal: stop.signal });
    await expect(flow[Symbol.asyncIterator]().next()).rejects.toThrow('enough');
  });

  it('that resumes from any cursor gets each activity once', async () => {
    const window = past(60);
    const sent = wirePosts(window, 2);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(12), { maxLength: 4 }), fc.nat(3), async (stops, seed) => {
        const failed = new Set([window.from + 7 * MINUTE, window.from + (20 + seed) * MINUTE]);
        server.otherwise = async (response, request) => {
          const asked = windowOf(request);
          const bad = [...failed].filter(at => asked.from <= at && at < asked.to);
          for (const at of bad) failed.delete(at);
          const some = within(sent, asked).filter(
            ({ minute }, n) => !bad.includes(minute) || n % 2,
          );
          const end =
            bad.length > 0
              ? info(WITH_ERRORS, some.length, { minutes_failed: bad.map(formatSent) })
              : info(COMPLETED, some.length);
          await stream([...some.map(({ json }) => json), end])(response, request);
        };
        const committed: string[] = [];
        let cursor: Cursor | undefined;
        for (const stop of [...stops, Number.POSITIVE_INFINITY]) {
          let pending: string[] = [];
          let batches = 0;
          for await (const batch of posts(window).batches({ resume: cursor })) {
            pending.push(...idsOf(batch.items as readonly Activity[]));
            if (batch.cursor !== undefined) {
              cursor = JSON.parse(JSON.stringify(batch.cursor));
              committed.push(...pending);
              pending = [];
            }
            if (++batches > stop) break;
          }
          if (stop === Number.POSITIVE_INFINITY) expect(pending).toEqual([]);
        }
        expect(committed.toSorted()).toEqual(idsOf(sent).toSorted());
      }),
      { numRuns: 12 },
    );
  });

  it('cannot resume from the cursor of another replay, or a damaged one', async () => {
    const window = past(2);
    server.otherwise = wholeReplay(wirePosts(window));
    let cursor: Cursor | undefined;
    for await (const batch of posts(window).batches()) cursor = batch.cursor ?? cursor;
    const other = posts({ ...window, from: window.from - MINUTE }, { resume: cursor });
    await expect(collected(other)).rejects.toThrow('its fromDate was');
    for (const damage of [{ open: 7 }, { ids: 7 }, { gaps: [{}] }, { source: 'search' }, null]) {
      const damaged = (damage && { ...cursor, ...damage }) as Cursor;
      const run = async () => collected(posts(window, { resume: damaged }));
      const refusal = damaged === null ? /of a batch or of an error/ : / to start again$/;
      await expect(run()).rejects.toThrow(OptionError);
      await expect(run()).rejects.toThrow(refusal);
    }
    const requests = server.received.length;
    expect(await collected(posts(window, { resume: cursor }))).toEqual([]);
    expect(server.received.length).toBe(requests);
  });
});

describe('options of a replay', () => {
  it('are checked before it connects', () => {
    const window = past(2);
    const wrong: object[] = [
      { streamType: 'powertrack' },
      { toDate: new Date(window.from) },
      { fromDate: 'yesterday' },
      { folder: '' },
      { maxMemory: -1 },
      { onGap: 'log' },
      { timings: { attempts: 0 } },
      { timings: { atempts: 1 } },
      { timings: { firstChunkMs: 90_000 } },
      { timings: null },
      { streamLabel: '' },
      { streamLabel: 7 },
      { fromdate: '202405150000' },
      { onWait: 'log' },
      { maxDisk: 0 },
    ];
    for (const options of wrong) expect(() => posts(window, options)).toThrow(OptionError);
    expect(() => posts(window, {}, acme({ streamLabel: undefined }))).toThrow('streamLabel');
    expect(() => posts(window, {}, acme({ replayStreamUrl: undefined }))).toThrow(
      'MILLRACE_REPLAY_STREAM_URL',
    );
    const silence = { timing: undefined, timeouts: { silenceMs: 30_000 } };
    expect(() => posts(window, {}, acme(silence))).toThrow('timeouts.silenceMs');
    expect(() => posts(window, {}, acme({ ...silence, timeouts: {} }))).not.toThrow();
    expect(() => replay(unchecked(undefined), unchecked({}))).toThrow(OptionError);
    expect(() => replay(acme(), unchecked(null))).toThrow(OptionError);
    expect(server.received).toEqual([]);
  });
});
