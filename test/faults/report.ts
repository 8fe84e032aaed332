import type { Cell, CellResult, Part, RecordedCell } from './part.js';
import { type Recorded, resultsOf } from './record.js';
import { ages, STALE_COMMITS, staleness } from './staleness.js';

/** A table shows this many characters from the start and from the end of a failure. */
const HALF = 250;

export function cellLine(part: string, result: CellResult): string {
  const { cell, expects, why, trials, failures, seconds } = result;
  if (expects === 'none') return `–  ${part} ${cell}: ${why ?? ''}`;
  const sign = failures.length === 0 ? 'ok' : 'FAILED';
  const counted = countsText(result);
  return `${sign}  ${part} ${cell}  ${expects}: ${trials} trials in ${seconds.toFixed(1)} s${counted === '' ? '' : `, ${counted}`}${failures.length === 0 ? '' : `, ${failures.length} failed`}`;
}

export function resultsPage(
  parts: readonly Part[],
  recorded: Recorded,
  ageOf: (part: string, cell: RecordedCell) => number | undefined = ages(),
): string {
  const known = parts.flatMap(part => {
    const tried = [...resultsOf(part, recorded).values()].map(cell =>
      // Some parts record results themselves, such as runs of the suite. Their trials have
      // different commits, so no age is shown.
      part.results === undefined && cell.expects !== 'none'
        ? { ...cell, stale: staleness(ageOf(part.name, cell)) }
        : cell,
    );
    return tried.length === 0 ? [] : [{ part, tried, cells: allCells(part, tried) }];
  });
  return [
    '# Faults: the results',
    '',
    'Written by `npm run faults` from [results.json](results.json); do not edit. How to run it and how to read it: [README.md](README.md).',
    '',
    ...summary(known),
    ...known.flatMap(({ part, tried, cells }) => [
      `## ${part.title} (\`${part.name}\`)`,
      '',
      part.promise,
      '',
      ...origins(tried),
      '',
      ...staleCells(cells),
      part.render?.(cells) ?? cellTable(cells),
      '',
    ]),
  ].join('\n');
}

/**
 * Returns all current cells in the order of the part. Cells with nothing to try are included even
 * if they have no recorded result.
 */
function allCells(part: Part, tried: readonly RecordedCell[]): readonly CellResult[] {
  const byName = new Map(tried.map(result => [result.cell, result]));
  const cells = part.cells.flatMap((cell): CellResult[] => {
    const recorded = byName.get(cell.name);
    byName.delete(cell.name);
    if (recorded !== undefined) return [asItIs(cell, recorded)];
    return cell.expects === 'none' ? [untried(cell)] : [];
  });
  return [...cells, ...byName.values()];
}

function asItIs(now: Cell, recorded: RecordedCell): CellResult {
  if (now.why === recorded.why) return recorded;
  // If this machine lacks what the cell needs, there is nothing to try here.
  if (now.expects === 'none')
    return recorded.expects === 'none' ? { ...recorded, why: now.why } : recorded;
  return { ...recorded, why: `${now.why ?? now.expects} (not tried since it says this)` };
}

function untried({ name, expects, why }: Cell): CellResult {
  return { cell: name, expects, why, trials: 0, failures: [], counts: {}, seconds: 0 };
}

function summary(
  known: readonly { part: Part; cells: readonly CellResult[] }[],
): readonly string[] {
  const rows = known.map(({ part, cells }) => {
    const live = cells.filter(cell => cell.expects !== 'none');
    const trials = live.reduce((sum, cell) => sum + cell.trials, 0);
    const failed = live.reduce((sum, cell) => sum + cell.failures.length, 0);
    const about = failed === 0 ? undefined : part.aboutFailures?.();
    const seconds = live.reduce((sum, cell) => sum + cell.seconds, 0);
    return [
      `\`${part.name}\``,
      String(live.length),
      trials.toLocaleString('en'),
      about === undefined ? failed.toLocaleString('en') : `${failed} (${about})`,
      seconds.toFixed(0),
      String(live.filter(({ stale }) => stale !== undefined).length),
    ];
  });
  const head = ['part', 'cells', 'trials', 'failed', 'seconds', 'stale'];
  return [
    ...table([head, ...rows], 1),
    '',
    `Stale are cells whose files have had ${STALE_COMMITS} commits or more since, or whose commit is not known. \`npm run faults -- --stale\` tries them again.`,
    '',
  ];
}

function origins(cells: readonly RecordedCell[]): readonly string[] {
  const all = new Set(cells.map(({ machine, day }) => `${machine}; ${day}`));
  const commits = new Map<string | undefined, number>();
  for (const { commit, expects } of cells)
    if (expects !== 'none') commits.set(commit, (commits.get(commit) ?? 0) + 1);
  const counted = [...commits].map(
    ([commit, count]) =>
      `${commit === undefined ? 'unknown' : `\`${commit}\``} (${count} of ${cellCount(commits)})`,
  );
  return [
    ...[...all].map(origin => `Run on ${origin}.`),
    ...([...commits.keys()].some(commit => commit !== undefined)
      ? ['', `Commits: ${counted.join(', ')}.`]
      : []),
  ];
}

/** Lists the cells with stale results, because not every table has a row per cell. */
function staleCells(cells: readonly CellResult[]): readonly string[] {
  const byAge = new Map<string, string[]>();
  for (const { cell, stale } of cells)
    if (stale !== undefined) byAge.set(stale, [...(byAge.get(stale) ?? []), `\`${cell}\``]);
  if (byAge.size === 0) return [];
  const texts = [...byAge].map(([age, names]) => `${names.join(' ')} (${age})`);
  return [`Stale: ${texts.join('; ')}.`, ''];
}

function cellCount(commits: ReadonlyMap<unknown, number>): string {
  const count = [...commits.values()].reduce((sum, cells) => sum + cells, 0);
  return `${count} cell${count === 1 ? '' : 's'}`;
}

export function cellTable(cells: readonly CellResult[]): string {
  return table(
    [
      ['cell', 'expects', 'trials', 'failed', 'counted'],
      ...cells.map(cell => [
        cell.stale === undefined ? cell.cell : `${cell.cell} (${cell.stale})`,
        cell.why === undefined ? cell.expects : `${cell.expects}: ${cell.why}`,
        cell.expects === 'none' ? '' : String(cell.trials),
        cell.expects === 'none'
          ? ''
          : cell.failures.length === 0
            ? '0'
            : `**${cell.failures.length}** (seed ${cell.failures[0]?.seed}: ${oneLine(cell.failures[0]?.message ?? '')})`,
        countsText(cell),
      ]),
    ],
    2,
  ).join('\n');
}

/**
 * Shortens a long text to its start and its end. The first line says what has failed, and the last
 * lines of a process say why.
 */
export function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length <= 2 * HALF ? line : `${line.slice(0, HALF)} … ${line.slice(-HALF)}`;
}

/** @param numbers The columns from this index on contain numbers, so they are right-aligned. */
export function table(rows: readonly (readonly string[])[], numbers: number): readonly string[] {
  const [head = [], ...body] = rows;
  const line = (row: readonly string[]) =>
    `| ${row.map(text => text.replaceAll('|', '\\|')).join(' | ')} |`;
  return [
    line(head),
    line(head.map((_, index) => (index >= numbers ? '---:' : '---'))),
    ...body.map(line),
  ];
}

function countsText({ counts }: CellResult): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${count.toLocaleString('en')}`)
    .join(', ');
}
