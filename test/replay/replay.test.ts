import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { DAY, floorTo, HOUR, MINUTE } from '../../src/base/time.js';
import { Progress } from '../../src/flow/progress.js';
import { type ReplayWait, replay } from '../../src/replay/replay.js';
import { collect } from '../../src/sinks/collect.js';
import {
  COMPLETED,
  info,
  judgedReplay,
  minuteOf,
  stream,
  wholeReplay,
  windowOf,
  wirePosts,
} from '../http/live-wire.js';
import { unchecked } from '../unchecked.js';
import {
  acme,
  collected,
  folder,
  idsOf,
  past,
  posts,
  server,
  setUpReplay,
  timing,
} from './scripted-replay.js';

setUpReplay();

describe('a replay', () => {
  describe('over several connections', () => {
    const wholeWindow = async () => {
      const window = past(100);
      const sent = wirePosts(window);
      server.otherwise = wholeReplay(sent);
      return { window, sent, got: await collected(posts(window)) };
    };

    it('delivers every activity exactly once, byte for byte', async () => {
      const { sent, got } = await wholeWindow();
      expect(got.map(({ raw }) => raw.toString())).toEqual(sent.map(({ json }) => json));
    });

    it('doubles the number of minutes with each connection', async () => {
      await wholeWindow();
      expect(server.received.map(windowOf).map(({ from, to }) => (to - from) / MINUTE)).toEqual([
        16, 32, 52,
      ]);
    });

    it('requests gzip, and sends the minutes of its range', async () => {
      const { window } = await wholeWindow();
      expect(server.received[0]).toMatchObject({
        url: `/base/replay/rulestream/accounts/acme/publishers/twitter/prod.json?fromDate=${minuteOf(window.from)}&toDate=${minuteOf(window.from + 16 * MINUTE)}`,
        headers: { 'accept-encoding': 'gzip', accept: 'application/json' },
      });
    });
  });

  it('uses the URL of its stream type, and delivers compliance events for compliance', async () => {
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

  it('does not mistake text within a post for an info message', async () => {
    const window = past(2);
    const sent = wirePosts(window);
    expect(sent[0]?.json).toContain('Replay Request Completed');
    server.otherwise = wholeReplay(sent);
    expect(idsOf(await collected(posts(window)))).toEqual(idsOf(sent));
  });

  it('needs 7 connections for a day, and reports the expected duration when it waits', async () => {
    const window = past(24 * 60);
    const sent = wirePosts(window, 1, 'x');
    server.otherwise = wholeReplay(sent);
    // Only waits take time in this test. On a busy machine, real time would delay the second
    // connection more than the others. The seventh connection would then correctly wait too.
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

  it('requests shorter ranges after a range has written much to disk', async () => {
    const window = past(100);
    const sent = wirePosts(window);
    server.otherwise = wholeReplay(sent);
    const minuteBytes = sent.reduce((sum, { json }) => sum + Buffer.byteLength(json) + 2, 0) / 100;
    expect(idsOf(await collected(posts(window, { maxDisk: 20 * minuteBytes })))).toEqual(
      idsOf(sent),
    );
    const lengths = server.received.map(windowOf).map(({ from, to }) => (to - from) / MINUTE);
    expect(lengths[0]).toBe(16);
    // `minuteBytes` includes the separators between records.
    expect(Math.max(...lengths)).toBeLessThan(25);
  });
});

describe('the gap of a replay for minutes older than five days', () => {
  it('is reported after all other minutes are delivered', async () => {
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

describe('the clock of the service in a replay', () => {
  it.each([-700 * DAY, -9 * DAY, 9 * DAY, 700 * DAY])(
    'decides which minutes can be replayed, even if it is %i ms off the local clock',
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
    'is learned again after it has moved by %i ms',
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

  it('may be moved while the replay waits', async () => {
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

  it('lets a replay request the oldest minute of the last five days', async () => {
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

describe('the options of a replay', () => {
  it('cause an OptionError before a connection is opened if they are wrong', () => {
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
