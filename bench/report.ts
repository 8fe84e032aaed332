import { median } from './measure.js';
import type { Answer, Question } from './question.js';

export const ONE_RUN =
  'A quick run: small inputs, and each figure is one run. It shows that all of it works; do not quote it.';

const COLUMNS = ['MB/s', 'k posts/s', 'cpu s', 'peak MiB', 'time / ours'];

/**
 * Returns the results of a benchmark as a Markdown table. The ratios are relative to the first
 * variant, which is Millrace.
 */
export function report(question: Question, { input, measured, skipped }: Answer): string {
  const ours = median(measured[0]?.samples.map(sample => sample.seconds) ?? []);
  const isQuick = measured.every(({ samples }) => samples.length === 1);
  const rows = measured.map(({ variant, samples }) => {
    const seconds = samples.map(sample => sample.seconds);
    const middle = median(seconds);
    return [
      variant.limit === true ? `*limit: ${variant.name}*` : variant.name,
      middle.toFixed(2),
      ...(isQuick ? [] : [spreadOf(seconds)]),
      (input.bytes / 1e6 / middle).toFixed(0),
      (input.posts / 1000 / middle).toFixed(0),
      median(samples.map(sample => sample.cpuSeconds)).toFixed(2),
      Math.max(...samples.map(sample => sample.peakMegabytes)).toFixed(0),
      (middle / ours).toFixed(2),
    ];
  });
  const table = [
    ['', ...(isQuick ? ['seconds'] : ['median s', 'spread s']), ...COLUMNS],
    ['---', ...(rows[0] ?? []).slice(1).map(() => '---:')],
    ...rows,
  ].map(row => `| ${row.join(' | ')} |`);
  return [
    `## ${question.title}`,
    '',
    input.note,
    '',
    ...table,
    ...skipped.map(line => `\nNot run: ${line}`),
    '',
  ].join('\n');
}

/**
 * Formats the spread of the measured times. A slow variant runs only once, even in a complete run,
 * so it has no spread.
 */
function spreadOf(seconds: readonly number[]): string {
  if (seconds.length === 1) return 'one run';
  return `${Math.min(...seconds).toFixed(2)}–${Math.max(...seconds).toFixed(2)}`;
}
