import { createGzip } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { IncompleteError } from '../../src/base/errors.js';
import { formatSent, MINUTE } from '../../src/base/time.js';
import { Progress } from '../../src/flow/progress.js';
import type { Activity } from '../../src/post/activity.js';
import {
  begin,
  COMPLETED,
  FAILED,
  info,
  minuteOf,
  send,
  stream,
  WITH_ERRORS,
  wholeReplay,
  windowOf,
  wireOf,
  wirePosts,
  within,
} from '../http/live-wire.js';
import { bySuite } from '../suite.js';
import { unchecked } from '../unchecked.js';
import {
  acme,
  collected,
  followedBy,
  idsOf,
  past,
  posts,
  server,
  setUpReplay,
} from './scripted-replay.js';

setUpReplay();

describe('a replay whose connection is faulty', () => {
  const window = past(1);
  const sent = wirePosts(window, 1, 'ö');
  const whole = [...sent.map(({ json }) => json), info(COMPLETED, sent.length)];

  it.each(['reset', 'closed', 'ended'] as const)(
    'loses no post if the connection is %s after any byte',
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

  it('delivers posts that arrive split at any byte', async () => {
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

  it('loses no post if the connection ends cleanly without the last message', async () => {
    const got = await followedBy(stream([sent[0]?.json ?? '']), window, sent);
    expect(idsOf(got)).toEqual(idsOf(sent));
    expect(server.received.length).toBe(2);
  });

  it('loses no post if the checksum after the last message is wrong', async () => {
    const wire = Buffer.concat(await wireOf(whole));
    const crc = wire.length - 8;
    wire[crc] = (wire[crc] as number) ^ 1;
    const progress = new Progress();
    server.script.push(async response => {
      begin(response);
      await send(response, wire.subarray(0, crc));
      // The checksum is sent only after the last message was read.
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

  it('loses no post if a record is damaged and no checksum follows the last message', async () => {
    const [first, ...rest] = whole as [string, ...string[]];
    const wire = Buffer.concat(await wireOf([`x${first}`, ...rest]));
    const damaged: unknown[] = [];
    const got = await followedBy(
      async response => {
        begin(response);
        await send(response, wire.subarray(0, -8));
        response.end();
      },
      window,
      sent,
      { onDamaged: (record: unknown) => damaged.push(record) },
    );
    expect(idsOf(got)).toEqual(idsOf(sent));
    expect(damaged).toEqual([]);
    expect(server.received.length).toBe(2);
  });

  async function afterDamaged(count: number, record: string) {
    const damaged: unknown[] = [];
    const records = Array.from({ length: count }, () => record);
    const reply = stream([...records, info(COMPLETED, count)]);
    const onDamaged = (record: unknown) => damaged.push(record);
    const got = await followedBy(reply, window, sent, { onDamaged });
    return { got: idsOf(got), damaged: damaged.length, requests: server.received.length };
  }

  it.each([
    ['1,001 damaged records', 1_001, 'x'],
    ['more than 64 MiB of damaged records', 65, `x${' x'.repeat(2 ** 19)}`],
  ])('is requested again after %s', async (_, count, record) => {
    const outcome = await afterDamaged(count, record);
    expect(outcome).toEqual({ got: idsOf(sent), damaged: 0, requests: 2 });
  });

  it('reports up to 1,000 damaged records', async () => {
    expect(await afterDamaged(1_000, 'x')).toEqual({ got: [], damaged: 1_000, requests: 1 });
  });

  it('loses no post if the connection ends with an error message', async () => {
    const error =
      '{"error":{"message":"Force closing connection","sent":"2017-01-11T17:04:13+00:00"}}';
    const retried: string[] = [];
    server.script.push(stream([sent[0]?.json ?? '', error]), stream([error]));
    server.otherwise = wholeReplay(sent);
    const watched = acme({ onRetry: ({ error: { message } }) => retried.push(message) });
    expect(idsOf(await collected(posts(window, {}, watched)))).toEqual(idsOf(sent));
    expect(retried.join()).toContain('Force closing connection');
  });

  it('loses no post if a byte is damaged', async () => {
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

  it('loses no post if the connection becomes silent, without heartbeats', async () => {
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

  it('requests a shorter range after the connection breaks', async () => {
    const long = past(40);
    const many = wirePosts(long, 1);
    expect(idsOf(await followedBy(stream([]), long, many))).toEqual(idsOf(many));
    expect(server.received.map(windowOf).map(({ from, to }) => (to - from) / MINUTE)).toEqual([
      16, 8, 16, 16,
    ]);
  });
});

describe('a record of a replay that arrives slowly', () => {
  const window = past(1);
  const sent = wirePosts(window, 1, 'x'.repeat(200));
  const whole = [...sent.map(({ json }) => json), info(COMPLETED, sent.length)];

  it('is included in the received bytes while it arrives', async () => {
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

  it('causes a reconnect, which is reported to onRetry, if it never ends', async () => {
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

describe('the last message of a replay connection', () => {
  it('with failed minutes causes these minutes to be requested again, without duplicate posts', async () => {
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

  it('with failed minutes of a compliance replay causes these minutes to be requested again, without duplicate events', async () => {
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

  it('with failed minutes restricts the ids in the cursor to those minutes', async () => {
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

  it('with an unprocessed range causes that range to be requested again', async () => {
    const window = past(10);
    const sent = wirePosts(window);
    const rest = { from: window.from + 4 * MINUTE, to: window.to };
    const part = sent.filter(({ minute }) => minute < rest.from).map(({ json }) => json);
    const range = { fromDate: formatSent(rest.from + 20_000), toDate: formatSent(rest.to) };
    const end = info(FAILED, part.length, { unprocessed_range: range });
    expect(idsOf(await followedBy(stream([...part, end]), window, sent))).toEqual(idsOf(sent));
    expect(windowOf(unchecked(server.received[1]))).toEqual(rest);
  });

  it('with a count that differs from the received posts causes the range to be requested again', async () => {
    const window = past(3);
    const sent = wirePosts(window);
    const less = sent.slice(1).map(({ json }) => json);
    const got = await followedBy(stream([...less, info(COMPLETED, sent.length)]), window, sent);
    expect(idsOf(got)).toEqual(idsOf(sent));
  });

  it('with a wrong count three times in a row causes a gap, but no posts are lost', async () => {
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

  it('with many failed ranges causes a gap for each of them', async () => {
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

  it('with a minute that fails every time causes a gap, after all other minutes are delivered', async () => {
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
