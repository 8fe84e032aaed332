import { type Answer, median } from './measure.js';
import type { Question } from './question.js';

/** The answer to a question as a Markdown table, ratios to the first variant, which is ours. */
export function report(question: Question, { input, measured, skipped }: Answer): string {
  const ours = median(measured[0]?.samples.map(sample => sample.seconds) ?? []);
  const rows = measured.map(({ variant, samples }) => {
    const seconds = samples.map(sample => sample.seconds);
    const middle = median(seconds);
    return [
      variant.limit === true ? `*limit: ${variant.name}*` : variant.name,
      middle.toFixed(2),
      `${Math.min(...seconds).toFixed(2)}–${Math.max(...seconds).toFixed(2)}`,
      (input.bytes / 1e6 / middle).toFixed(0),
      (input.posts / 1000 / middle).toFixed(0),
      median(samples.map(sample => sample.cpuSeconds)).toFixed(2),
      Math.max(...samples.map(sample => sample.peakMegabytes)).toFixed(0),
      (middle / ours).toFixed(2),
    ];
  });
  const table = [
    ['', 'median s', 'spread s', 'MB/s', 'k posts/s', 'cpu s', 'peak MiB', 'time / ours'],
    ['---', '---:', '---:', '---:', '---:', '---:', '---:', '---:'],
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
