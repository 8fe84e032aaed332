import type { Writable } from 'node:stream';
import progressBars from 'cli-progress';
import { OptionError } from '../errors.js';
import type { Progress, ProgressCounts } from './progress.js';
import { ProgressText } from './progress-text.js';

/**
 * How a pipeline shows its progress: as a bar or as a line every 5 s on stderr, whichever of the two fits
 * (`auto`), not at all, or by a function that is called about 4 times a second and at the end. Each says
 * what the source waits for, and until when. What the function throws, or its promise rejects with, ends
 * the run; it is not called again before its promise is settled.
 */
export type ProgressDisplay =
  | 'auto'
  | 'bar'
  | 'lines'
  | 'off'
  | ((counts: ProgressCounts) => unknown);

export interface Display {
  /** Shows the last state. Nothing is shown after it. */
  finish(): Promise<void> | void;
  fail(): void;
}

export interface DisplayOptions {
  readonly stream?: Writable & { readonly isTTY?: boolean | undefined };
  /** Ends the run with an error of the function. */
  readonly abort?: (error: unknown) => void;
}

const LINE_EVERY_MS = 5_000;
const UPDATE_EVERY_MS = 250;

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
    case 'bar':
    case 'auto':
      return stream.isTTY === true && process.env.TERM !== 'dumb'
        ? bar(progress, stream)
        : lines(progress, stream);
    default:
      throw new OptionError(
        'progress',
        `Expected \`progress\` to be 'auto', 'bar', 'lines', 'off' or a function, got ${JSON.stringify(display)}`,
      );
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

function lines(progress: Progress, stream: Writable): Display {
  const text = new ProgressText(progress);
  stream.on('error', ignore);
  const timer = setInterval(() => stream.write(`${text.running()}\n`), LINE_EVERY_MS).unref();
  const end = (last: string) => {
    clearInterval(timer);
    write(stream, `${last}\n`);
  };
  return { finish: () => end(text.done()), fail: () => end(text.failed()) };
}

function bar(progress: Progress, stream: Writable): Display {
  const text = new ProgressText(progress);
  let last: string | undefined;
  let whole = false;
  stream.on('error', ignore);
  const drawn = new Bar({
    stream,
    fps: 1000 / UPDATE_EVERY_MS,
    barsize: 24,
    // Cut to the width instead of switching the terminal's own wrapping off, which Ctrl-C would leave so.
    linewrap: true,
    gracefulExit: false,
    format: options => {
      const fraction = progress.fraction === undefined || !whole ? progress.fraction : 1;
      const gauge =
        fraction === undefined ? '' : `[${progressBars.Format.BarFormat(fraction, options)}] `;
      return gauge + (last ?? text.running());
    },
  });
  drawn.start(1, 0);
  const end = (words: string, all: boolean) => {
    last = words;
    whole = all;
    drawn.stop();
    write(stream, '\n');
  };
  return { finish: () => end(text.done(), true), fail: () => end(text.failed(), false) };
}

/** A bar whose timer lets the process end, and that leaves the cursor where it is. */
class Bar extends progressBars.SingleBar {
  declare timer: NodeJS.Timeout | null;

  override render(): void {
    super.render();
    this.timer?.unref();
  }

  /** Not the library's own: that jumps to where the cursor was at the start, over what came since. */
  override stop(): void {
    this.render();
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }
}

/** Writes the last text, then stops ignoring errors of the stream. */
function write(stream: Writable, text: string): void {
  stream.write(text, error => {
    if (error == null) stream.off('error', ignore);
  });
}

function ignore(): void {
  // A closed stderr (`2>&1 | head`) ends the display, not the run.
}
