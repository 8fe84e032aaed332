import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ConnectionError, HttpError } from '../../src/base/errors.js';
import { HOUR, MINUTE } from '../../src/base/time.js';
import type { Wait } from '../../src/base/wait.js';
import { Progress } from '../../src/flow/progress.js';
import { showProgress } from '../../src/flow/progress-display.js';
import { JetStreamError } from '../../src/jetstream/jet-stream-errors.js';
import { busy, Screen } from './progress-screen.js';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

describe('the progress printed as lines', () => {
  it('shows how many messages all readers together are behind', () => {
    const screen = new Screen();
    const progress = new Progress();
    progress.behind.set('one', 1_200).set('other', 34).set('one', 1_000);
    const display = showProgress(progress, 'lines', { stream: screen });
    vi.advanceTimersByTime(5_000);
    expect(screen.text).toBe('1,034 messages behind, 0/s, received 0, written 0\n');
    expect(progress.counts().behind).toBe(1_034);
    expect(new Progress().counts()).not.toHaveProperty('behind');
    display.finish();
  });

  it('appears every 5 s, for the first time after 5 s', () => {
    const screen = new Screen();
    const display = showProgress(new Progress(), 'lines', { stream: screen });
    vi.advanceTimersByTime(4_999);
    expect(screen.text).toBe('');
    vi.advanceTimersByTime(1);
    expect(screen.text).toBe('0/s, received 0, written 0\n');
    vi.advanceTimersByTime(10_000);
    expect(screen.text.split('\n').length).toBe(4);
    display.finish();
  });

  it("contains its counts and the current wait as JSON with `progress: 'json'`", () => {
    const screen = new Screen();
    const progress = new Progress();
    const display = showProgress(progress, 'json', { stream: screen });
    Object.assign(progress, { received: 12, reached: Date.UTC(2024, 2, 5) });
    progress.drop('dedupe', 3);
    const until = new Date(Date.UTC(2024, 2, 5, 0, 41));
    progress.onWait({ reason: 'rate limit', setting: 'limits.search', waitMs: 17_000, until });
    vi.advanceTimersByTime(5_000);
    display.finish();
    const lines = screen.text.trim().split('\n');
    const [running, done] = lines.map(line => JSON.parse(line));
    expect(running).toMatchObject({
      state: 'running',
      received: 12,
      written: 0,
      dropped: { dedupe: 3 },
      waits: 1,
      reached: '2024-03-05T00:00:00.000Z',
      durationMs: expect.any(Number),
      wait: {
        reason: 'rate limit',
        setting: 'limits.search',
        until: until.toISOString(),
        waitMs: 17_000,
      },
    });
    expect(done).toMatchObject({ state: 'complete' });
    expect(lines).toHaveLength(2);
    const failed = showProgress(progress, 'json', { stream: screen });
    failed.fail();
    expect(JSON.parse(screen.text.trim().split('\n').at(-1) ?? '')).toMatchObject({
      state: 'failed',
    });
  });

  it('shows every count and the remaining time on a line', () => {
    const screen = new Screen();
    const progress = new Progress();
    const display = showProgress(progress, 'lines', { stream: screen });
    progress.fraction = 0.1;
    vi.advanceTimersByTime(5_000);
    Object.assign(progress, { ...busy(), dropped: progress.dropped });
    progress.drop('dedupe', 300);
    progress.drop('filter', 45);
    vi.advanceTimersByTime(5_000);
    expect(screen.text.split('\n')[1]).toBe(
      '25 %, 25 s left, 2,400/s, received 12,345 (29.6 MB), written 12,000 (999 B), at 2024-03-05 14:07 UTC, dropped 300 by dedupe and 45 by filter',
    );
    display.finish();
  });

  it.each([
    [999, '999 B'],
    [1_000, '1.0 kB'],
    [99_400, '99.4 kB'],
    [99_600, '100 kB'],
    [999_499, '999 kB'],
    [999_500, '1.0 MB'],
    [2.5e9, '2.5 GB'],
    [1e12, '1.0 TB'],
  ])('shows the size of %d bytes with at most three digits: %s', (receivedBytes, size) => {
    const screen = new Screen();
    const progress = new Progress();
    const display = showProgress(progress, 'lines', { stream: screen });
    Object.assign(progress, { received: 1, receivedBytes });
    vi.advanceTimersByTime(5_000);
    expect(screen.text).toContain(`received 1 (${size})`);
    display.finish();
  });

  it('shows what the source waits for, in seconds or, from a minute on, as a time of day', () => {
    const screen = new Screen();
    const progress = new Progress();
    const display = showProgress(progress, 'lines', { stream: screen });
    const until = new Date(Date.UTC(2024, 2, 5, 0, 41));
    const http = { method: 'GET', url: 'https://x.test/', body: '', retryAfterMs: undefined };
    const unavailable = new HttpError('no', { ...http, status: 503, retryable: true });
    const cut = new ConnectionError('no', { url: 'https://x.test/', failure: 'cut' });
    const full = new JetStreamError(
      'toJetStream: cannot publish to posts.1: maximum bytes exceeded. Give the stream more space',
      { failure: 'full' },
    );
    const waits: [Omit<Wait, 'until'>, string][] = [
      [
        { reason: 'connect limit', setting: 'limits.replay', waitMs: 9 * MINUTE },
        'waiting for the connection limit \\(limits.replay\\) until 00:41 UTC',
      ],
      [
        { reason: 'too recent', waitMs: 9 * MINUTE },
        'waiting for minutes to become available until 00:41 UTC',
      ],
      [{ reason: 'rate limit', waitMs: 17_000 }, 'waiting for the rate limit for 12 s'],
      [{ reason: 'retry', waitMs: 17_000, error: unavailable, retry: 3 }, 'retry 3 in 12 s: 503'],
      [
        { reason: 'retry', waitMs: 9 * MINUTE, error: cut, retry: 1 },
        'retry 1 at 00:41 UTC: connection cut',
      ],
      [
        { reason: 'servers', waitMs: 9 * MINUTE, error: full, retry: 9 },
        'waiting for the servers until 00:41 UTC at most: toJetStream: cannot publish to posts.1: maximum bytes exceeded',
      ],
      [
        { reason: 'servers', waitMs: 17_000, error: full, retry: 9 },
        'waiting for the servers for 12 s at most: toJetStream: cannot publish to posts.1: maximum bytes exceeded',
      ],
      // A wait of less than one second is not shown, because it would only flicker.
      [{ reason: 'rate limit', waitMs: 999 }, '0/s, received 0'],
    ];
    for (const [wait, text] of waits) {
      const end = progress.onWait({ ...wait, until });
      vi.advanceTimersByTime(5_000);
      expect(screen.text.split('\n').at(-2)).toMatch(new RegExp(`^${text}, `));
      end();
      vi.advanceTimersByTime(5_000);
      expect(screen.text.split('\n').at(-2)).toBe('0/s, received 0, written 0');
    }
    display.finish();
  });

  it('appears when a wait starts, and again only after a change or a minute', () => {
    const screen = new Screen();
    const progress = new Progress();
    const display = showProgress(progress, 'lines', { stream: screen });
    const until = new Date(Date.UTC(2024, 2, 5, 0, 41));
    const wait = { reason: 'connect limit', waitMs: 9 * MINUTE, until } as const;
    const lines = () => screen.text.split('\n').length - 1;
    const end = progress.onWait(wait);
    vi.advanceTimersByTime(60_000);
    expect(lines()).toBe(1);
    vi.advanceTimersByTime(5_000);
    expect(lines()).toBe(2);
    vi.advanceTimersByTime(55_000);
    expect(lines()).toBe(2);
    progress.received++;
    vi.advanceTimersByTime(10_000);
    expect(lines()).toBe(3);
    progress.written++;
    vi.advanceTimersByTime(10_000);
    expect(lines()).toBe(4);
    end();
    const endNext = progress.onWait({ ...wait });
    vi.advanceTimersByTime(10_000);
    expect(lines()).toBe(5);
    endNext();
    vi.advanceTimersByTime(10_000);
    expect(lines()).toBe(7);
    display.finish();
  });

  it('measures the rate after a wait from the end of the wait', () => {
    const screen = new Screen();
    const progress = new Progress();
    const display = showProgress(progress, 'lines', { stream: screen });
    const until = new Date();
    const end = progress.onWait({ reason: 'throttle', waitMs: 9 * MINUTE, until });
    vi.advanceTimersByTime(60_000);
    end();
    progress.received = 500;
    vi.advanceTimersByTime(5_000);
    expect(screen.text.split('\n').at(-2)).toBe('100/s, received 500, written 0');
    display.finish();
  });

  it('shows no remaining time if the expected end is less than a second away or has passed', () => {
    const screen = new Screen();
    const progress = new Progress();
    const display = showProgress(progress, 'lines', { stream: screen });
    progress.endsAt = performance.now() + 5_500;
    vi.advanceTimersByTime(10_000);
    expect(screen.text).not.toContain('left');
    display.finish();
  });

  it('estimates the remaining time of a resumed run from the progress since its start', () => {
    const screen = new Screen();
    const progress = new Progress();
    const display = showProgress(progress, 'lines', { stream: screen });
    for (const fraction of [0.5, 0.6, 0.75]) {
      progress.fraction = fraction;
      vi.advanceTimersByTime(5_000);
    }
    expect(screen.text.match(/[\d.]+ s left/g)).toEqual(['20 s left', '10 s left']);
    display.finish();
  });

  it('shows no remaining time during a wait', () => {
    const screen = new Screen();
    const progress = new Progress();
    const display = showProgress(progress, 'lines', { stream: screen });
    progress.fraction = 0.1;
    vi.advanceTimersByTime(5_000);
    progress.fraction = 0.5;
    const waitMs = 5 * MINUTE;
    const until = new Date(Date.UTC(2024, 2, 5, 0, 41));
    const end = progress.onWait({ reason: 'connect limit', waitMs, until });
    vi.advanceTimersByTime(5_000);
    end();
    vi.advanceTimersByTime(5_000);
    expect(screen.text.split('\n').slice(1, 3)).toEqual([
      'waiting for the connection limit until 00:41 UTC, 50 %, 0/s, received 0, written 0',
      '50 %, 13 s left, 0/s, received 0, written 0',
    ]);
    display.finish();
  });

  it('shows the remaining time that the source estimates, even during a wait', () => {
    const screen = new Screen();
    const progress = new Progress();
    const display = showProgress(progress, 'lines', { stream: screen });
    progress.fraction = 0.1;
    progress.endsAt = performance.now() + 2 * HOUR;
    vi.advanceTimersByTime(5_000);
    const until = new Date(Date.UTC(2024, 2, 5, 0, 41));
    const end = progress.onWait({ reason: 'connect limit', waitMs: 5 * MINUTE, until });
    vi.advanceTimersByTime(5_000);
    expect(screen.text.split('\n').slice(0, 2)).toEqual([
      '10 %, 1 h 59 min left, 0/s, received 0, written 0',
      'waiting for the connection limit until 00:41 UTC, 10 %, 1 h 59 min left, 0/s, received 0, written 0',
    ]);
    expect(progress.counts().leftMs).toBe(2 * HOUR - 10_000);
    end();
    display.finish();
  });

  it('ends with a final line and prints nothing after it', () => {
    const screen = new Screen();
    const display = showProgress(busy(), 'lines', { stream: screen });
    vi.advanceTimersByTime(2_000);
    display.finish();
    expect(screen.text).toMatch(/^done in 2\.0 s, received 12,345 .*\n$/);
    vi.advanceTimersByTime(60_000);
    expect(screen.text.split('\n').length).toBe(2);
  });

  it('shows that a run failed', () => {
    const screen = new Screen();
    const display = showProgress(busy(), 'lines', { stream: screen });
    vi.advanceTimersByTime(3_725_000);
    screen.text = '';
    display.fail();
    expect(screen.text).toMatch(/^failed after 1 h 2 min, received .*\n$/);
  });
});
