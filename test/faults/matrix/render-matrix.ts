import type { CellResult, Expectation } from '../part.js';
import { table } from '../report.js';

const SIGNS: Readonly<Record<Expectation, string>> = {
  recovers: '✔',
  waits: 'W',
  error: 'E',
  gap: 'G',
  holds: '✔',
  none: '–',
};

function cursorsOf({ expects, counts: { cursors = 0 } }: CellResult): string {
  return expects === 'error' && cursors > 0 ? ` (${cursors})` : '';
}

export function renderMatrix(
  results: readonly CellResult[],
  rows: readonly string[],
  faults: readonly string[],
  nameOf: (row: string, fault: string) => string,
): string {
  const byName = new Map(results.map(result => [result.cell, result]));
  const sign = (result: CellResult | undefined) => {
    if (result === undefined) return 'not run';
    if (result.expects === 'none') return '–';
    const failed = result.failures.length;
    return failed === 0
      ? `${SIGNS[result.expects]} ${result.trials}${cursorsOf(result)}${result.stale === undefined ? '' : ' †'}`
      : `**${failed} failed** (seed ${result.failures[0]?.seed})`;
  };
  const lines = faults.map(fault => [
    fault,
    ...rows.map(row => sign(byName.get(nameOf(row, fault)))),
  ]);
  const live = results.filter(({ expects }) => expects !== 'none');
  const sum = (count: (result: CellResult) => number) =>
    live.reduce((all, result) => all + count(result), 0).toLocaleString('en');
  const reasons = new Map<string, string[]>();
  for (const { cell, expects, why = '' } of results)
    if (expects === 'none') reasons.set(why, [...(reasons.get(why) ?? []), cell]);
  return [
    `${sum(({ trials }) => trials)} trials in ${live.length} cells, ${sum(({ counts }) => counts.kills ?? 0)} processes killed, ${sum(({ counts }) => counts.items ?? 0)} items compared by id and hash: ${sum(({ failures }) => failures.length)} trials failed.`,
    '',
    '✔ recovers, W waits and recovers, E typed error and the same script completes it, G what the service cannot deliver is named, exactly, and all else is there, – nothing to try. The number is that of the trials, each with another seed; in brackets that of those that also went on by the cursor of their error, without a checkpoint. † is stale.',
    '',
    '`503 five times` is four times where the files of jobs are fetched, which are tried five times each.',
    '',
    ...table([['', ...rows], ...lines], 1),
    '',
    'Nothing to try:',
    '',
    ...[...reasons].map(
      ([why, cells]) => `- ${why}: ${cells.map(cell => `\`${cell}\``).join(' ')}`,
    ),
  ].join('\n');
}
