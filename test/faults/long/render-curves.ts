import type { CellResult } from '../part.js';
import { cellTable, table } from '../report.js';

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
