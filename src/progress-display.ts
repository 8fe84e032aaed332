import type { Progress, ProgressCounts } from './progress.js';

/** How a pipeline shows its progress; always on stderr, or to a function of yours. */
export type ProgressDisplay = 'auto' | 'bar' | 'lines' | 'off' | ((counts: ProgressCounts) => void);

export interface Display {
  finish(): void;
  fail(): void;
}

export function showProgress(_progress: Progress, _display: ProgressDisplay): Display {
  return { finish() {}, fail() {} };
}
