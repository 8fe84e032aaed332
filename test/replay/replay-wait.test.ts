import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { DAY, floorTo, MINUTE } from '../../src/base/time.js';
import type { Wait } from '../../src/base/wait.js';
import { Progress } from '../../src/flow/progress.js';
import type { Activity } from '../../src/post/activity.js';
import type { ReplayWait } from '../../src/replay/replay.js';
import { judgedReplay, wholeReplay, wirePosts } from '../http/live-wire.js';
import { status } from '../http/scripted-server.js';
import {
  acme,
  collected,
  idsOf,
  past,
  posts,
  server,
  setUpReplay,
  timing,
} from './scripted-replay.js';

setUpReplay();

describe('a wait of a replay', () => {
  it('is reported if some minutes of the window are still in the future', async () => {
    const from = floorTo(MINUTE, Date.now() - 20 * MINUTE);
    const window = { from, to: from + 5 * MINUTE };
    const until = window.to + 30 * MINUTE;
    const untilMs = until - timing.now();
    // Real time passes during the test, and more of it on a busy machine.
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
    // The first connection tells the client the service's time.
    expect(server.received.length).toBe(2);
    expect(waits.map(wait => [wait.reason, Math.round(wait.until.getTime() / 1000)])).toEqual([
      ['too recent', until / 1000],
    ]);
    const [{ begunMs, waitMs }] = waits as [(typeof waits)[0]];
    expect(Math.abs(begunMs + waitMs - untilMs)).toBeLessThan(1000);
    expect([...seen].every(at => Math.abs((at ?? 0) - until) < 1000)).toBe(true);
    expect(progress.wait).toBe(undefined);
  });

  it('before a retry is shown only once, even if the timer fires early', async () => {
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

  it('is reported if the connection limit is reached', async () => {
    const window = past(200);
    server.otherwise = wholeReplay(wirePosts(window, 1));
    const waits: ReplayWait[] = [];
    const timings = { maxChunkMs: 16 * MINUTE };
    await collected(posts(window, { timings, onWait: wait => waits.push(wait) }));
    expect(new Set(waits.map(({ reason }) => reason))).toEqual(new Set(['connect limit']));
    expect(waits.every(({ waitMs }) => waitMs > 0)).toBe(true);
  });

  it('is no longer shown after the reader of the replay stops', async () => {
    const from = floorTo(MINUTE, Date.now() - 20 * MINUTE);
    const window = { from, to: from + 5 * MINUTE };
    server.otherwise = judgedReplay(wirePosts(window), timing.now);
    const progress = new Progress();
    const stop = new AbortController();
    timing.sleep = () => {
      expect(progress.wait).toMatchObject({ reason: 'too recent' });
      stop.abort(new Error('enough'));
      return Promise.reject(stop.signal.reason);
    };
    const { signal } = stop;
    const read = async () => {
      for await (const _ of posts(window).batches({ progress, signal }));
    };
    await expect(read()).rejects.toThrow('enough');
    await expect.poll(() => progress.wait).toBe(undefined);
  });

  it('is replaced by an error if `toDate` is more than 366 days ahead of the service', async () => {
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
});
