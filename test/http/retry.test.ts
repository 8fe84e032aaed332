import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkOptions } from '../../src/base/check.js';
import {
  ConnectionError,
  DataError,
  HttpError,
  type MillraceError,
} from '../../src/base/errors.js';
import { MINUTE, SECOND } from '../../src/base/time.js';
import {
  parseRetryAfter,
  RETRY,
  type RetryAccount,
  type Retrying,
  type RetryPolicy,
  retry,
} from '../../src/http/retry.js';
import { VirtualTime } from './virtual-time.js';

const accountOf = (
  timing: VirtualTime,
  policy: Partial<RetryPolicy> = {},
  onRetry: (retrying: Retrying) => unknown = () => {},
): RetryAccount => ({
  retry: checkOptions('test', RETRY, policy) as RetryPolicy,
  timing,
  onRetry,
  beginWait: () => () => {},
});

const http = (status: number, retryAfterMs?: number): HttpError =>
  new HttpError(`answered ${status}`, {
    status,
    method: 'POST',
    url: 'https://host.test/',
    body: '',
    retryAfterMs,
    retryable: status === 429 || status >= 500,
  });
const broken = (failure: 'refused' | 'reset' | 'stalled' | 'cut'): ConnectionError =>
  new ConnectionError(failure, { failure, url: 'https://host.test/' });

async function run(
  errors: readonly unknown[],
  policy: Partial<RetryPolicy> = {},
  time = new VirtualTime(),
) {
  const told: Retrying[] = [];
  let tries = 0;
  const account = accountOf(time, policy, retrying => told.push(retrying));
  const attempt = async () => {
    const error = errors[tries++];
    if (error !== undefined) throw error;
    return 'done';
  };
  const outcome = retry(account, attempt, undefined).catch((error: unknown) => error);
  await time.run();
  return { outcome: await outcome, tries, waits: time.slept, told };
}

describe('a call with retries', () => {
  it('rejects with the error of the promise that `onRetry` returns', async () => {
    const failure = new Error('the log is gone');
    const time = new VirtualTime();
    const account = accountOf(time, {}, () => Promise.reject(failure));
    const outcome = retry(account, () => Promise.reject(http(503)), undefined).catch(
      (error: unknown) => error,
    );
    await time.run();
    expect(await outcome).toBe(failure);
  });

  it.each([
    ['a server error', http(503)],
    ['a gateway error', http(502)],
    ['a rate limit', http(429)],
    ['a connection that was reset', broken('reset')],
    ['a stalled connection', broken('stalled')],
    ['a truncated response', broken('cut')],
    ['a connection that was refused', broken('refused')],
    ['damaged bytes', new DataError('damaged', { retryable: true })],
  ])('retries after %s', async (_what, error) => {
    const { outcome, tries, told } = await run([error]);
    expect(outcome).toBe('done');
    expect(tries).toBe(2);
    expect(told).toEqual([{ error, attempts: 1, waitMs: 750 }]);
  });

  it.each([400, 401, 403, 404, 406, 410, 422])(
    'does not retry after the status %i',
    async status => {
      const error = http(status);
      const { outcome, tries, waits } = await run([error]);
      expect(outcome).toBe(error);
      expect(tries).toBe(1);
      expect(waits).toEqual([]);
    },
  );

  it('does not retry an error that is not a MillraceError', async () => {
    const bug = new TypeError('a bug');
    expect((await run([bug])).outcome).toBe(bug);
  });

  it('does not retry a refused connection more often than `attempts` allows', async () => {
    const refused = Array.from({ length: 9 }, () => broken('refused'));
    expect((await run(refused, { attempts: 1 })).tries).toBe(1);
    expect((await run(refused, { attempts: 2, connects: 3 })).tries).toBe(2);
    expect((await run(refused, { attempts: 5, connects: 3 })).tries).toBe(3);
  });

  it('waits longer before each retry, up to a maximum', async () => {
    const { waits } = await run(Array.from({ length: 20 }, () => http(503)));
    // Each wait is 3/4 of 1, 2, 4 ... 32 s because `random` always returns 0.5.
    expect(waits).toEqual([750, 1500, 3000, 6000, 12_000, 24_000, 24_000, 24_000, 24_000]);
  });

  it('fails with the error of the tenth attempt', async () => {
    const errors = Array.from({ length: 20 }, () => http(503));
    const { outcome, tries } = await run(errors);
    expect(tries).toBe(10);
    expect(outcome).toBe(errors[9]);
  });

  it('waits at least half of the current maximum, so that no wait is nearly zero', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), {
          minLength: 9,
          maxLength: 9,
        }),
        async dice => {
          const time = new VirtualTime();
          let thrown = 0;
          time.random = () => dice[thrown++]!;
          const { waits } = await run(
            Array.from({ length: 20 }, () => http(500)),
            {},
            time,
          );
          expect(waits).toEqual(
            dice.map((die, i) => (0.5 + die / 2) * Math.min(32_000, 1000 * 2 ** i)),
          );
        },
      ),
    );
  });

  it('gives up early if no server listens', async () => {
    const { tries, waits } = await run(Array.from({ length: 20 }, () => broken('refused')));
    expect(tries).toBe(4);
    expect(waits.reduce((sum, wait) => sum + wait, 0)).toBeLessThan(10 * SECOND);
  });

  it('waits slightly longer than Retry-After', async () => {
    const { outcome, waits } = await run([http(429, 300 * SECOND), http(503, 7 * SECOND)]);
    expect(outcome).toBe('done');
    expect(waits).toEqual([300_750, 8000]);
  });

  it('waits for a Retry-After of exactly the maximum wait', async () => {
    expect((await run([http(429, 15 * MINUTE)])).outcome).toBe('done');
  });

  it('fails immediately if Retry-After exceeds the maximum wait', async () => {
    const error = http(429, 16 * MINUTE);
    const { outcome, tries } = await run([error]);
    expect(outcome).toBe(error);
    expect((outcome as HttpError).retryAfterMs).toBe(16 * MINUTE);
    expect(tries).toBe(1);
  });

  it('stops retrying when the total time for retries is over', async () => {
    const { outcome, tries } = await run(
      Array.from({ length: 9 }, () => http(429, 60 * SECOND)),
      { totalMs: 150 * SECOND },
    );
    expect((outcome as MillraceError).retryable).toBe(true);
    expect(tries).toBe(3);
  });

  it('starts its last try when exactly the total time for retries has passed, but no later', async () => {
    const error = http(429, 60 * SECOND);
    expect(await run([error], { totalMs: 60_750 })).toMatchObject({
      outcome: 'done',
      waits: [60_750],
    });
    expect(await run([error], { totalMs: 60_749 })).toMatchObject({ outcome: error, waits: [] });
  });

  it('does not retry if the account disables retries', async () => {
    expect((await run([http(503)], { attempts: 1 })).tries).toBe(1);
  });

  it('ends its wait and rejects with the reason of an abort during the wait', async () => {
    const time = new VirtualTime();
    const controller = new AbortController();
    const reason = Symbol('reason');
    time.at(100, () => controller.abort(reason));
    const attempt = () => Promise.reject(http(503));
    const ends: number[] = [];
    const account = {
      ...accountOf(time),
      beginWait: () => () => void ends.push(time.elapsed()),
    };
    const outcome = retry(account, attempt, controller.signal).catch((error: unknown) => error);
    await time.run();
    expect(await outcome).toBe(reason);
    expect(ends).toEqual([100]);
    expect(time.elapsed()).toBe(100);
    expect(time.timers).toBe(0);
  });
});

describe('a Retry-After header', () => {
  const now = Date.UTC(2024, 0, 1);

  it.each([
    ['120', 120_000],
    [' 5 ', 5000],
    ['Mon, 01 Jan 2024 00:01:00 GMT', 60_000],
    ['0', undefined],
    ['Sun, 31 Dec 2023 23:00:00 GMT', undefined],
    ['-5', undefined],
    ['+5', undefined],
    ['1.5', undefined],
    ['5, 10', undefined],
    ['2099-01-01', undefined],
    ['soon', undefined],
    ['', undefined],
    [undefined, undefined],
    ['999999999999999999999', 2 ** 31 * 1000],
    ['9'.repeat(40), 2 ** 31 * 1000],
  ])('of %j is parsed as %j milliseconds', (value, ms) => {
    expect(parseRetryAfter(value, undefined, now)).toBe(ms);
  });

  it.each(['-5', '0', 'Mon, 01 Jan 2001 00:00:00 GMT'])(
    'of %j does not cause an immediate retry',
    async value => {
      const { waits } = await run([http(503, parseRetryAfter(value, undefined, now))]);
      expect(waits).toEqual([750]);
    },
  );

  it('of 21 digits exceeds the maximum wait, so the call fails', async () => {
    const error = http(503, parseRetryAfter('999999999999999999999', undefined, now));
    expect(await run([error])).toMatchObject({ outcome: error, tries: 1 });
  });

  it('with a date is relative to the Date of the response, not to the local clock', () => {
    const date = 'Mon, 01 Jan 2024 10:00:00 GMT';
    expect(parseRetryAfter('Mon, 01 Jan 2024 10:00:30 GMT', date, now)).toBe(30_000);
  });
});
