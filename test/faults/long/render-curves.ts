import type { CellResult } from '../part.js';
import { cellTable, table } from '../report.js';

/** What the numbers do not say by themselves. */
const NOTES = `A connection of the compliance stream can take two planted faults, one for its bytes and one for its messages, so it has fewer connections than \`hits\`. Over 60 minutes its memory grows by some 20 MiB, within the 32 MiB that are allowed, while the heap stays: what grows is not objects, and an hour does not show where it ends.

A time by the clock, or with its disk, is not judged: the disk decides it, and other work that uses it. In \`tombstones/100000000\` the first steps took up to 50 seconds by the clock with the same CPU time as all others, so they waited for the disk; for what is not known.

Runs without \`MiB before\` are of before the memory above that was limited, and their outputs had no commits after the last one was open. \`outputs/100000\` of such a run grew by 68 MiB for half of the outputs, which is 1.4 KiB each; \`listing/1000000\` had 612 MiB in all, at most 0.63 KiB for each file.`;

const BARS = '▁▂▃▄▅▆▇█';

/** The results, then a line for each thing that was measured over time. */
export function renderCurves(results: readonly CellResult[]): string {
  const rows = results.flatMap(({ cell, curves = {} }) =>
    Object.entries(curves).map(([name, values], index) => {
      const [second, last] = [quarter(values, 1), quarter(values, 3)];
      return [
        index === 0 ? cell : '',
        name,
        `\`${bars(values)}\``,
        ...[second, last, Math.max(...values)].map(shown),
      ];
    }),
  );
  return [
    cellTable(results),
    '',
    NOTES,
    '',
    'Each run from left to right, in equal parts, drawn from 0 up:',
    '',
    ...table([['cell', '', 'over the run', 'second quarter', 'last quarter', 'most'], ...rows], 3),
  ].join('\n');
}

/** A bar for each value, from 0 to the largest. */
export function bars(values: readonly number[]): string {
  const largest = Math.max(...values);
  return values
    .map(
      value => BARS[largest <= 0 ? 0 : Math.ceil((value / largest) * BARS.length) - 1] ?? BARS[0],
    )
    .join('');
}

function quarter(values: readonly number[], index: number): number {
  const part = values.slice(
    Math.floor((index * values.length) / 4),
    Math.floor(((index + 1) * values.length) / 4),
  );
  return part.toSorted((a, b) => a - b)[part.length >> 1] ?? 0;
}

function shown(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en');
}
