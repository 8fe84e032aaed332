import { clearLine, cursorTo } from 'node:readline';
import type { Writable } from 'node:stream';
import stringWidth from 'string-width';
import { MINUTE } from '../base/time.js';
import type { Wait } from '../base/wait.js';
import type { Progress, ProgressCounts } from './progress.js';
import { type HowEnded, ProgressText, SEPARATOR } from './progress-text.js';

/**
 * How a pipeline shows its progress on stderr:
 * - `auto` or `bar`: a bar on a terminal, otherwise lines;
 * - `lines` or `json`: a line every 5 s, but only every minute during a wait;
 * - `off`: nothing;
 * - a function, which is called about 4 times a second and at the end.
 *
 * All of these show what the source is waiting for, until when, and which setting causes the wait. If the
 * function throws or its promise rejects, the run ends with that error. If the function returns a promise, it
 * is not called again until the promise settles.
 */
export type ProgressDisplay =
  | 'auto'
  | 'bar'
  | 'lines'
  | 'json'
  | 'off'
  | ((counts: ProgressCounts) => unknown);

export interface Display {
  /** Shows the final state. Nothing is shown after this call. */
  finish(): Promise<void> | void;
  /** Shows the state at the time when the run failed or was aborted. */
  fail(how?: HowEnded): void;
}

type Terminal = Writable & {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
};

export interface DisplayOptions {
  readonly stream?: Terminal;
  readonly abort?: (error: unknown) => void;
}

const LINE_EVERY_MS = 5_000;
const UPDATE_EVERY_MS = 250;
const GAUGE_WIDTH = 24;
/** The minimum width of a terminal that shows a gauge next to the text, in columns. */
const GAUGE_COLUMNS = 60;
/**
 * If `shorten` cuts out the middle of a part, it keeps this many words at the end of the part, such as the 3
 * words of `until 00:41 UTC`.
 */
const TAIL_WORDS = 3;

export function showProgress(
  progress: Progress,
  display: ProgressDisplay,
  { stream = process.stderr, abort = () => {} }: DisplayOptions = {},
): Display {
  if (typeof display === 'function') return calls(progress, display, abort);
  switch (display) {
    case 'off':
      return { finish() {}, fail() {} };
    case 'lines':
      return lines(progress, stream);
    case 'json':
      return lines(progress, stream, jsonOf(progress));
    case 'bar':
    case 'auto':
      return stream.isTTY === true && process.env.TERM !== 'dumb'
        ? bar(progress, stream)
        : lines(progress, stream);
  }
}

function calls(
  progress: Progress,
  show: (counts: ProgressCounts) => unknown,
  abort: (error: unknown) => void,
): Display {
  let failure: { readonly error: unknown } | undefined;
  let running: Promise<void> | undefined;
  const run = async () => {
    try {
      await show(progress.counts());
    } catch (error) {
      failure = { error };
      clearInterval(timer);
      abort(error);
    }
  };
  const timer = setInterval(() => {
    running ??= run().finally(() => {
      running = undefined;
    });
  }, UPDATE_EVERY_MS).unref();
  const last = async () => {
    clearInterval(timer);
    await running;
    if (failure === undefined) await run();
  };
  return {
    async finish() {
      await last();
      if (failure !== undefined) throw failure.error;
    },
    fail: () => void last(),
  };
}

function lines(
  progress: Progress,
  stream: Writable,
  text: RunText = new ProgressText(progress),
): Display {
  stream.on('error', ignore);
  const isNews = waitNews(progress);
  const tick = () => {
    // Called even if the line is not printed, because each call also takes a sample for the rate.
    const line = text.running();
    if (isNews()) stream.write(`${line}\n`);
  };
  const timer = setInterval(tick, LINE_EVERY_MS).unref();
  const end = (last: string) => {
    clearInterval(timer);
    write(stream, `${last}\n`);
  };
  return { finish: () => end(text.done()), fail: how => end(text.failed(how)) };
}

/**
 * Returns a function that tells whether to print a line. During a wait without new items, a line is printed
 * once at the start and then every minute.
 */
function waitNews(progress: Progress): () => boolean {
  let last: { readonly wait: Wait; readonly items: number; readonly at: number } | undefined;
  return () => {
    const { received, written, wait } = progress.counts();
    const items = received + written;
    const at = performance.now();
    const isSame = wait === last?.wait && items === last?.items;
    if (isSame && at - (last?.at ?? 0) < MINUTE) return false;
    last = wait && { wait, items, at };
    return true;
  };
}

type RunText = Pick<ProgressText, 'running' | 'done' | 'failed'>;

function jsonOf(progress: Progress): RunText {
  const started = performance.now();
  const line = (state: 'running' | 'complete' | HowEnded) => {
    const { dropped, reached, wait, branches: _, ...counts } = progress.counts();
    const { error: __, retry: ___, ...waiting } = wait ?? {};
    return JSON.stringify({
      time: new Date(),
      state,
      durationMs: Math.round(performance.now() - started),
      ...counts,
      dropped: Object.fromEntries(dropped),
      reached: reached === undefined ? undefined : new Date(reached),
      wait: wait && waiting,
    });
  };
  return {
    running: () => line('running'),
    done: () => line('complete'),
    failed: how => line(how ?? 'failed'),
  };
}

function bar(progress: Progress, stream: Terminal): Display {
  const text = new ProgressText(progress);
  let drawn: string | undefined;
  stream.on('error', ignore);
  const draw = (words: string, fraction = progress.fraction) => {
    // A terminal of unknown size reports 0 columns.
    const columns = stream.columns || 80;
    const withGauge = fraction === undefined ? words : `[${gauge(fraction)}] ${words}`;
    const [first = ''] = withGauge.split(SEPARATOR);
    const hasGauge = columns >= Math.max(GAUGE_COLUMNS, stringWidth(first));
    const line = hasGauge ? withGauge : words;
    // Cuts the line to the width of the terminal. The alternative, to turn off line wrapping, would leave the
    // terminal changed after Ctrl-C.
    const fitting = shorten(line, columns);
    if (fitting === drawn) return;
    drawn = fitting;
    cursorTo(stream, 0);
    stream.write(fitting);
    clearLine(stream, 1);
  };
  const timer = setInterval(() => draw(text.running()), UPDATE_EVERY_MS).unref();
  draw(text.running());
  progress.clear = () => {
    if (drawn === undefined) return;
    drawn = undefined;
    cursorTo(stream, 0);
    clearLine(stream, 1);
  };
  const end = (words: string, fraction: number | undefined) => {
    clearInterval(timer);
    draw(words, fraction);
    write(stream, '\n');
  };
  return {
    finish: () => end(text.done(), progress.fraction === undefined ? undefined : 1),
    fail: how => end(text.failed(how), progress.fraction),
  };
}

function gauge(fraction: number): string {
  const filled = Math.round(Math.min(Math.max(fraction, 0), 1) * GAUGE_WIDTH);
  return '='.repeat(filled).padEnd(GAUGE_WIDTH, '-');
}

/**
 * Returns as many whole parts of the text as fit into the given number of columns. If even the first part
 * does not fit, its middle is cut out.
 */
function shorten(text: string, columns: number): string {
  const parts = text.split(SEPARATOR);
  while (parts.length > 1 && stringWidth(parts.join(SEPARATOR)) > columns) parts.pop();
  const fitting = parts.join(SEPARATOR);
  if (stringWidth(fitting) <= columns) return fitting;
  const tail = `… ${fitting.split(' ').slice(-TAIL_WORDS).join(' ')}`;
  const width = stringWidth(tail);
  return width < columns ? cut(fitting, columns - width) + tail : cut(fitting, columns);
}

function cut(text: string, columns: number): string {
  let [fitting, width] = ['', 0];
  for (const character of text) {
    width += stringWidth(character);
    if (width > columns) break;
    fitting += character;
  }
  return fitting;
}

/** Writes the last line. Once it is written, errors of the stream are no longer ignored. */
function write(stream: Writable, text: string): void {
  stream.write(text, error => {
    if (error == null) stream.off('error', ignore);
  });
}

function ignore(): void {
  // If stderr is closed, as in `2>&1 | head`, the display ends but the run continues.
}
