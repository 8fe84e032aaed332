import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MINUTE } from '../../src/base/time.js';
import { Progress, type ProgressCounts } from '../../src/flow/progress.js';
import { type ProgressDisplay, showProgress } from '../../src/flow/progress-display.js';
import { busy, Screen } from './progress-screen.js';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

describe('the progress bar', () => {
  it('redraws one line of a terminal, and ends with a new line', () => {
    const screen = new Screen(true);
    const progress = busy();
    const display = showProgress(progress, 'auto', { stream: screen });
    vi.advanceTimersByTime(1_000);
    expect(screen.text).toContain('[======------------------] 25 %');
    expect(screen.text).not.toContain('\n');
    progress.fraction = 0.5;
    vi.advanceTimersByTime(1_000);
    expect(screen.text).toContain('[============------------] 50 %');
    display.finish();
    expect(screen.text).toMatch(/\[={24}\] done in 2\.0 s, received 12,345 [^\n]*\n$/);
    const end = screen.text;
    vi.advanceTimersByTime(60_000);
    expect(screen.text).toBe(end);
  });

  it('is cleared while a sink writes to the same terminal, and redrawn below the output', () => {
    const screen = new Screen(true);
    const progress = busy();
    const display = showProgress(progress, 'bar', { stream: screen });
    const drawn = screen.text;
    progress.branch().clear();
    expect(screen.text).toBe(`${drawn}\x1b[1G\x1b[0K`);
    progress.clear();
    expect(screen.text).toBe(`${drawn}\x1b[1G\x1b[0K`);
    vi.advanceTimersByTime(1_000);
    expect(screen.text.slice(drawn.length)).toContain('[======------------------] 25 %');
    display.finish();
  });

  it('shows an aborted run as interrupted', () => {
    const screen = new Screen(true);
    showProgress(busy(), 'bar', { stream: screen }).fail('interrupted');
    expect(screen.text).toMatch(/\] interrupted after 0\.0 s, [^\n]*\n$/);
  });

  it('shows the last state of a failed run, and puts the terminal cursor on a new line', () => {
    const screen = new Screen(true);
    const display = showProgress(busy(), 'bar', { stream: screen });
    display.fail();
    expect(screen.text).toMatch(/\[======-{18}\] failed after 0\.0 s, [^\n]*\n$/);
  });

  it('never changes a terminal mode, which would stay changed after Ctrl-C', () => {
    const screen = new Screen(true);
    showProgress(busy(), 'bar', { stream: screen });
    vi.advanceTimersByTime(1_000);
    expect(screen.text).not.toMatch(/\x1b\[\?(7|25)l/);
  });

  it('fits into one line of the terminal, even with wide characters', () => {
    const screen = new Screen(true);
    screen.columns = 40;
    const progress = new Progress();
    progress.drop('重複', 3);
    const display = showProgress(progress, 'bar', { stream: screen });
    expect(screen.text).toContain('0/s, received 0, written 0');
    screen.columns = 44;
    vi.advanceTimersByTime(1_000);
    expect(screen.text).not.toContain('dropped');
    screen.columns = 45;
    vi.advanceTimersByTime(1_000);
    expect(screen.text).toContain('dropped 3 by 重複');
    display.finish();
  });

  it('drops its gauge if the text of a wait does not fit beside it', () => {
    const screen = new Screen(true);
    screen.columns = 60;
    const progress = new Progress();
    progress.fraction = 0.25;
    const until = new Date(Date.UTC(2024, 2, 5, 0, 41));
    progress.onWait({ reason: 'connect limit', waitMs: 5 * MINUTE, until });
    const display = showProgress(progress, 'bar', { stream: screen });
    expect(screen.text).toContain('waiting for the connection limit until 00:41 UTC, 25 %, 0/s');
    expect(screen.text).not.toContain('[=');
    display.finish();
  });

  it('shows the reason and the length of a wait on a narrow terminal', () => {
    const screen = new Screen(true);
    screen.columns = 40;
    const progress = busy();
    progress.fraction = 0.25;
    const waitMs = 48_000;
    progress.onWait({ reason: 'too recent', waitMs, until: new Date(Date.now() + waitMs) });
    const display = showProgress(progress, 'bar', { stream: screen });
    expect(screen.text).toContain('waiting for minutes to become … for 48 s');
    expect(screen.text).not.toMatch(/[=%]/);
    display.finish();
  });

  it('has no gauge while the total is unknown', () => {
    const screen = new Screen(true);
    const progress = busy();
    progress.fraction = undefined;
    const display = showProgress(progress, 'bar', { stream: screen });
    vi.advanceTimersByTime(500);
    expect(screen.text).toContain('/s, received 12,345');
    expect(screen.text).not.toMatch(/[=%]/);
    display.finish();
  });

  it('becomes lines if there is no terminal or the terminal cannot move its cursor', () => {
    for (const [isTTY, term] of [
      [false, 'xterm'],
      [true, 'dumb'],
    ] as const) {
      vi.stubEnv('TERM', term);
      for (const display of ['auto', 'bar'] as const) {
        const screen = new Screen(isTTY);
        showProgress(busy(), display, { stream: screen }).finish();
        expect(screen.text).toMatch(/^done in [^\n]*\n$/);
      }
    }
  });
});

describe('the progress function', () => {
  it('is called 4 times a second and at the end', async () => {
    const seen: ProgressCounts[] = [];
    const progress = busy();
    const display = showProgress(progress, counts => seen.push(counts));
    await vi.advanceTimersByTimeAsync(1_100);
    expect(seen.length).toBe(4);
    progress.written++;
    progress.drop('filter', 1);
    await display.finish();
    expect(seen.map(counts => counts.written)).toEqual([12_000, 12_000, 12_000, 12_000, 12_001]);
    expect(seen.map(counts => counts.dropped.get('filter'))).toEqual([45, 45, 45, 45, 46]);
    vi.advanceTimersByTime(60_000);
    expect(seen.length).toBe(5);
  });

  it('ends the run if it throws, and is not called again', async () => {
    let calls = 0;
    const failure = new Error('no screen');
    const aborted: unknown[] = [];
    const show = () => {
      calls++;
      throw failure;
    };
    const display = showProgress(busy(), show, { abort: error => aborted.push(error) });
    await vi.advanceTimersByTimeAsync(2_000);
    expect(calls).toBe(1);
    expect(aborted).toEqual([failure]);
    await expect(display.finish()).rejects.toBe(failure);
    expect(() => display.fail()).not.toThrow();
    expect(calls).toBe(1);
  });

  it('is not called again before its promise settles', async () => {
    let calls = 0;
    const display = showProgress(busy(), async () => {
      calls++;
      await new Promise(resolve => setTimeout(resolve, 1_000));
    });
    await vi.advanceTimersByTimeAsync(2_400);
    expect(calls).toBe(2);
    const finished = display.finish();
    await vi.advanceTimersByTimeAsync(2_400);
    await finished;
    expect(calls).toBe(3);
  });
});

describe('the progress option', () => {
  it('disables the progress if it is false', () => {
    const screen = new Screen(true);
    showProgress(busy(), 'off', { stream: screen }).finish();
    expect(screen.text).toBe('');
  });

  it.each(['lines', 'bar'] as const)(
    'set to %s survives a closed stderr and does not keep the process alive',
    display => {
      const screen = new Screen(display === 'bar');
      screen._write = (_, __, callback: (error?: Error) => void) => callback(new Error('EPIPE'));
      const shown = showProgress(busy(), display, { stream: screen });
      vi.advanceTimersByTime(20_000);
      shown.finish();
      expect(screen.listenerCount('error')).toBe(1);
    },
  );

  it.each(['lines', 'bar'] as const)(
    'set to %s leaves no listener at the end of the run',
    async display => {
      vi.useRealTimers();
      const screen = new Screen(display === 'bar');
      showProgress(busy(), display, { stream: screen }).finish();
      await new Promise(resolve => setImmediate(resolve));
      expect(screen.listenerCount('error')).toBe(0);
    },
  );

  it.each(['lines', 'bar', () => {}])('does not keep the process alive (set to %s)', display => {
    vi.useRealTimers();
    const timers = () => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length;
    const before = timers();
    const shown = showProgress(busy(), display as ProgressDisplay, { stream: new Screen(true) });
    expect(timers()).toBe(before);
    shown.finish();
  });
});
