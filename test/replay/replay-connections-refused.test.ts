import { beforeEach, describe, expect, it } from 'vitest';
import { HttpError, IncompleteError } from '../../src/base/errors.js';
import { DAY, floorTo, HOUR, MINUTE } from '../../src/base/time.js';
import type { Cursor } from '../../src/flow/flow.js';
import type { ReplayOptions } from '../../src/replay/replay.js';
import {
  COMPLETED,
  info,
  minuteOf,
  stream,
  wholeReplay,
  windowOf,
  wirePosts,
} from '../http/live-wire.js';
import { reset, status } from '../http/scripted-server.js';
import {
  acme,
  collected,
  followedBy,
  idsOf,
  past,
  posts,
  server,
  setUpReplay,
  timing,
} from './scripted-replay.js';

setUpReplay();

describe('a replay connection that the service refuses', () => {
  const window = past(2);
  const sent = wirePosts(window);

  it.each([
    ['503', status(503)],
    ['500 with Retry-After', status(500, '', { 'retry-after': '7' })],
    ['429', status(429, '{"error":{"message":"Exceeded"}}')],
    ['a reset', reset],
  ] as const)('is retried after %s', async (_, refusal) => {
    expect(idsOf(await followedBy(refusal, window, sent))).toEqual(idsOf(sent));
    expect(timing.slept.length).toBeGreaterThan(0);
  });

  it('is retried after a 429 once Retry-After has passed, or after 5 minutes without that header', async () => {
    await followedBy(status(429, '', { 'retry-after': '77' }), window, sent);
    expect(timing.slept.map(ms => Math.round(ms / 1000))).toEqual([77]);
    timing.slept.length = 0;
    await followedBy(status(429), window, sent);
    expect(timing.slept.map(ms => Math.round(ms / 1000))).toEqual([300]);
  });

  it('fails the replay if Retry-After exceeds the maximum wait of the account', async () => {
    for (const code of [503, 429]) {
      server.script.push(status(code, '', { 'retry-after': '3600' }));
      const error = await collected(posts(window)).catch(e => e);
      expect(error).toBeInstanceOf(HttpError);
      expect(error).toMatchObject({ status: code, retryAfterMs: 3_600_000 });
    }
    expect(timing.slept).toEqual([]);
  });

  it('fails the replay with the error with which `onWait`, `onGap` or `onDamaged` rejects', async () => {
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

  it('fails the replay immediately with 401 or 404', async () => {
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

  it('with a 401 in the middle of a run fails the run with a cursor for exactly the remaining posts', async () => {
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
    'is retried up to 4 times before the error is thrown: %i "%s"',
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

  it('is retried after each of many 406s between complete connections', async () => {
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

  it('fails the replay immediately if a 406 says that the stream has no rules', async () => {
    const text = 'There are no rules for this stream. Add rules before connecting.';
    server.otherwise = status(406, JSON.stringify({ error: { message: text } }));
    const error = await collected(posts(window)).catch(e => e);
    expect(error).toBeInstanceOf(HttpError);
    expect(error).toMatchObject({ status: 406, body: text });
    expect(server.received.length).toBe(1);
    expect(timing.slept).toEqual([]);
  });

  it('is retried after a wait, and reported to onRetry, if a 406 rejects a date that is far from both limits', async () => {
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

  it('is retried with the minutes that the service allows if a 406 rejects a date because the clocks differ', async () => {
    // The service's clock is 7 minutes behind the client's.
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

  describe('in every attempt, without a single success,', () => {
    const refusedOf = (range: typeof window) =>
      collected(posts(range, { timings: { attempts: 4 } })).catch(e => e);
    beforeEach(() => {
      server.otherwise = status(503);
    });

    it('fails the replay with the missing ranges and the reason', async () => {
      const error = await refusedOf(window);
      expect(error).toBeInstanceOf(IncompleteError);
      expect(error.retryable).toBe(true);
      expect(error.missing).toEqual([`${minuteOf(window.from)} to ${minuteOf(window.to)}`]);
      expect(error.message).toContain('503');
      expect(server.received.length).toBe(4);
    });

    it('advises in the error to run again if no post was delivered', async () => {
      expect((await refusedOf(window)).message).toMatch(/Missing: .*\. Run it again later$/);
    });

    it('fails the replay with a cursor if some posts were delivered', async () => {
      const long = past(100);
      server.script.push(wholeReplay(wirePosts(long)));
      const late = await refusedOf(long);
      expect(late.cursor).toBeDefined();
      expect(late.message).toMatch(
        /later; without a checkpoint, pass the cursor of this error as `resume`$/,
      );
    });
  });
});
