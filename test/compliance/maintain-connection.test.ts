import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  type ConnectionListener,
  DeliveredTime,
  maintainConnection,
} from '../../src/compliance/maintain-connection.js';
import { account } from '../../src/http/account.js';
import { begin, send, wireOf } from '../http/live-wire.js';
import { ScriptedServer } from '../http/scripted-server.js';
import { impatient } from '../http/virtual-time.js';
import { LOGIN } from '../login.js';

const START = 1_700_000_000_000;
/**
 * If nothing happens, the service sends a heartbeat at this interval. The transfer of each
 * heartbeat takes `HEARTBEAT_SENDS_MS`.
 */
const HEARTBEAT_MS = 10_000;
const HEARTBEAT_SENDS_MS = 5;

interface Message {
  readonly sent: number;
  readonly sendMs: number;
  readonly busyMs: number;
  readonly isHeartbeat: boolean;
}

const step = fc.record({
  pauseMs: fc.nat(100_000),
  /** The time that the transfer takes. If it exceeds `pauseMs`, the stream falls behind. */
  sendMs: fc.nat(60_000),
  busyMs: fc.nat(30_000),
});

function messagesOf(
  steps: readonly { readonly pauseMs: number; readonly sendMs: number; readonly busyMs: number }[],
): Message[] {
  let now = START;
  return steps.flatMap(({ pauseMs, sendMs, busyMs }) => {
    const beats = Array.from({ length: Math.floor(pauseMs / HEARTBEAT_MS) }, (_, n) => ({
      sent: now + (n + 1) * HEARTBEAT_MS,
      sendMs: HEARTBEAT_SENDS_MS,
      busyMs: 0,
      isHeartbeat: true,
    }));
    now += pauseMs;
    return [...beats, { sent: now, sendMs, busyMs, isHeartbeat: false }];
  });
}

/**
 * Throws if `DeliveredTime` returns a time later than an event that was not delivered yet.
 * Everything before that time counts as delivered, so this event would be lost.
 */
function mustNotBeAhead(
  messages: readonly Message[],
  { stallAt = 0, stallMs = 0 }: { readonly stallAt?: number; readonly stallMs?: number } = {},
): void {
  const delivered = new DeliveredTime();
  let [arrived, read, until] = [START, START, START];
  for (const [index, { sent, sendMs, busyMs, isHeartbeat }] of messages.entries()) {
    arrived = Math.max(arrived, sent) + sendMs + (index === stallAt ? stallMs : 0);
    read = Math.max(read, arrived);
    const follow = (time: number | undefined) => {
      until = Math.max(until, time ?? until);
    };
    if (!isHeartbeat) {
      expect(until).toBeLessThanOrEqual(sent + stallMs);
      read += busyMs;
      follow(delivered.afterEvents([{ at: new Date(sent) }], read));
    }
    follow(delivered.afterBytes(isHeartbeat, { now: read, elapsed: read - START }));
  }
}

describe('the time up to which a compliance connection has delivered everything', () => {
  const stream = fc.array(step, { minLength: 1, maxLength: 30 }).map(messagesOf);

  it('is never later than an event still in transit, however slowly the event arrives', () => {
    fc.assert(fc.property(stream, messages => mustNotBeAhead(messages)));
  });

  it('is ahead of an event in transit by at most the length of a network stall', () => {
    fc.assert(
      fc.property(stream, fc.nat(100), fc.nat(50_000), (messages, stallAt, stallMs) =>
        mustNotBeAhead(messages, { stallAt, stallMs }),
      ),
    );
  });

  it('is not later than an event in transit, even after heartbeats that another stall delayed', () => {
    const slow = { sent: START, sendMs: 60_000, busyMs: 0, isHeartbeat: false };
    const beats = [10_000, 20_000, 30_000].map(after => ({
      sent: START + after,
      sendMs: HEARTBEAT_SENDS_MS,
      busyMs: 0,
      isHeartbeat: true,
    }));
    const event = { sent: START + 31_000, sendMs: 5, busyMs: 0, isHeartbeat: false };
    mustNotBeAhead([slow, ...beats, event], { stallAt: 3, stallMs: 1_000 });
  });

  it('advances with the clock while only heartbeats arrive', () => {
    for (const apart of [30_000, 4_000, 1_000]) {
      const delivered = new DeliveredTime();
      const times = Array.from({ length: 4 }, (_, n) =>
        delivered.afterBytes(true, { now: START + n * apart, elapsed: n * apart }),
      );
      expect(times).toEqual([undefined, START, START + apart, START + 2 * apart]);
    }
  });

  it('does not advance while a record arrives in parts', () => {
    const delivered = new DeliveredTime();
    const times = Array.from({ length: 8 }, (_, n) =>
      delivered.afterBytes(n < 2, { now: n * 10_000, elapsed: n * 10_000 }),
    );
    expect(times.filter(time => time !== undefined)).toEqual([0]);
  });

  it('does not advance with delayed heartbeats that are read all at once', () => {
    const delivered = new DeliveredTime();
    const late = { now: 3_600_000, elapsed: 3_600_000 };
    const times = Array.from({ length: 9 }, () => delivered.afterBytes(true, late));
    expect(times.every(time => time === undefined)).toBe(true);
  });

  it('advances with the clock, minus the delay of the last event', () => {
    const delivered = new DeliveredTime();
    delivered.afterEvents([{ at: new Date(START - 60_000) }], START);
    const times = [10_000, 20_000, 30_000].map(after =>
      delivered.afterBytes(true, { now: START + after, elapsed: after }),
    );
    expect(times).toEqual([undefined, START - 50_000, START - 40_000]);
  });

  const afterEvents = (...times: readonly (number | undefined)[]) =>
    new DeliveredTime().afterEvents(
      times.map(time => ({ at: time === undefined ? undefined : new Date(time) })),
      START,
    );

  it('is the time of the newest event right after events arrived', () => {
    expect(afterEvents(START - 9, START - 5, undefined)).toBe(START - 5);
  });

  it('is never in the future, even if an event has a later time', () => {
    expect(afterEvents(START + 3)).toBe(START);
  });

  it('is undefined if no event has a time', () => {
    expect(afterEvents(undefined)).toBeUndefined();
  });

  it('ignores an event whose time is far in the future', () => {
    const events = [{ at: new Date(START + 86_400_000) }, { at: new Date(START - 1_800_000) }];
    expect(new DeliveredTime().afterEvents(events, START)).toBe(START - 1_800_000);
    expect(new DeliveredTime().afterEvents(events.slice(0, 1), START)).toBeUndefined();
  });
});

function signalled(): [promise: Promise<void>, resolve: () => void] {
  let resolve = () => {};
  const promise = new Promise<void>(settle => {
    resolve = settle;
  });
  return [promise, resolve];
}

describe('a compliance connection', () => {
  const EVENTS = Array.from(
    { length: 40 },
    (_, n) =>
      `{"delete":{"status":{"id":${n},"id_str":"${n}","user_id":1,"user_id_str":"1"},"timestamp_ms":"${START}"}}`,
  );

  async function connected(events: ConnectionListener['events'], allowed: Promise<void>) {
    const server = await new ScriptedServer().start();
    onTestFinished(() => server.stop());
    const [allSent, onSent] = signalled();
    server.otherwise = async response => {
      begin(response);
      for (const [index, piece] of (await wireOf(EVENTS, { trailer: false })).entries()) {
        if (index === 1) await allowed;
        await send(response, piece);
      }
      onSent();
    };
    const acme = account(
      { complianceStreamUrl: server.url, account: 'acme', timing: impatient(), ...LOGIN },
      {},
    );
    const stop = new AbortController();
    onTestFinished(() => stop.abort(new Error('The test has ended')));
    const run = maintainConnection(acme, new URL(server.url), stop.signal, {
      connected() {},
      delivered() {},
      async damaged() {},
      events,
    });
    run.catch(() => {});
    return { run, allSent };
  }

  it('stops reading events while its listener is busy', async () => {
    let calls = 0;
    let received = 0;
    const [first, onFirst] = signalled();
    const [room, makeRoom] = signalled();
    const { allSent } = await connected(async events => {
      calls++;
      received += events.length;
      onFirst();
      await room;
    }, first);
    await allSent;
    // After this many turns of the event loop, everything that was sent has arrived.
    for (let turn = 0; turn < 1_000 && calls === 1; turn++) await setImmediate();
    expect([calls, received]).toEqual([1, 1]);
    makeRoom();
    await expect.poll(() => received).toBe(EVENTS.length);
  });

  it('rejects with the error of its listener', async () => {
    const failure = new Error('the disk is full');
    let calls = 0;
    const [calledAgain, onSecond] = signalled();
    const { run } = await connected(async () => {
      if (++calls > 1) onSecond();
      throw failure;
    }, Promise.resolve());
    await expect(Promise.race([run, calledAgain])).rejects.toBe(failure);
  });
});
