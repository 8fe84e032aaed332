import type { CellResult } from '../part.js';
import { cellTable, table } from '../report.js';

const BARS = '▁▂▃▄▅▆▇█';

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
    ...notesOn(results).flatMap(note => [note, '']),
    'Each run from left to right, in equal parts, drawn from 0 up:',
    '',
    ...table([['cell', '', 'over the run', 'second quarter', 'last quarter', 'most'], ...rows], 3),
  ].join('\n');
}

function notesOn(results: readonly CellResult[]): readonly string[] {
  const minutes = results.filter(({ cell }) => cell.startsWith('compliance-minutes/'));
  const [longest] = minutes.toSorted((a, b) => (b.counts.hits ?? 0) - (a.counts.hits ?? 0));
  const slow = results.flatMap(({ cell, curves = {} }) =>
    Object.entries(curves)
      .filter(([name, values]) => /clock|disk/.test(name) && Math.max(...values) > 10_000)
      .map(([, values]) => `\`${cell}\` (${shown(Math.max(...values) / 1_000)} s)`),
  );
  const before = results.filter(
    ({ counts, failures }) => counts['MiB before'] === undefined && failures.length === 0,
  );
  const each = before.flatMap(({ cell, curves = {}, counts: { items = 0 } }) => {
    const memory = curves['memory, MiB'] ?? [];
    const grown = quarter(memory, 3) - quarter(memory, 1);
    const kib = shown((grown * 1024) / (items / 2));
    if (cell.startsWith('outputs/'))
      return [`\`${cell}\` grew by ${shown(grown)} MiB for half of its outputs, ${kib} KiB each`];
    if (cell === 'listing/1000000')
      return [
        `\`${cell}\` had ${shown(Math.max(...memory))} MiB in all, nearly all of it before its first step`,
      ];
    return [];
  });
  return [
    ...(longest === undefined
      ? []
      : [
          `A connection of the compliance stream can take two planted faults, one for its bytes and one for its messages: \`${longest.cell}\` had ${longest.counts.hits} hits and ${longest.counts.connections} connections. From its second quarter to its last, its memory grew by ${longest.counts['grown MiB']} MiB, of the 32 MiB that are allowed.`,
        ]),
    'Times by the clock may grow with those of fixed work beside them: the disk and the CPU do other work, too. Results without that are older, and theirs were not judged.',
    ...(slow.length === 0
      ? []
      : [
          `Steps of ${slow.join(', ')} took that long by the clock, with the same CPU time as all others: they waited for the disk. What else used it then is not known.`,
        ]),
    ...(before.length === 0
      ? []
      : [
          `Results without \`MiB before\` are older than the limit on memory above that before the run, and their outputs had no commits once all were open${each.length === 0 ? '' : `: ${each.join('; ')}`}.`,
        ]),
  ];
}

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
