import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import type { CellResult, Curves, Part, RecordedCell } from './part.js';
import { currentCommit } from './staleness.js';

export type Recorded = Readonly<Record<string, Readonly<Record<string, RecordedCell>>>>;

export const MACHINE = `Node ${process.version}, ${os.cpus().length} x ${os.cpus()[0]?.model.trim() ?? 'unknown'}, ${(os.totalmem() / 2 ** 30).toFixed(0)} GiB`;

/**
 * The number of lines that are kept from the end of a message. The output of a process ends with
 * its fatal error.
 */
const LAST_LINES = 12;
const MAX_LINE = 400;

export function readRecord(file: string): Recorded {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Recorded;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
}

export function resultsOf(part: Part, recorded: Recorded): ReadonlyMap<string, RecordedCell> {
  const cells = part.results?.() ?? Object.values(recorded[part.name] ?? {});
  return new Map(cells.map(cell => [cell.cell, cell]));
}

/**
 * Returns whether a result replaces the recorded one. It does not if the cell has nothing to try,
 * if the run had fewer seeds, or if the run was interrupted and had no failure. With `startsAgain`,
 * it always replaces a result with failures.
 */
export function replaces(
  { expects, trials, failures }: CellResult,
  before: CellResult | undefined,
  { seeds, startsAgain = false }: { seeds?: number | undefined; startsAgain?: boolean } = {},
): boolean {
  if (expects === 'none') return false;
  if (before === undefined || (startsAgain && before.failures.length > 0)) return true;
  if (seeds !== undefined && seeds < before.trials) return false;
  return trials >= before.trials || failures.length > 0;
}

/**
 * Adds results to the file, and removes the results of cells that the part no longer has. Returns
 * the new content of the file.
 */
export function record(
  file: string,
  part: { readonly name: string; readonly cells: readonly { readonly name: string }[] },
  results: readonly CellResult[],
): Recorded {
  const commit = currentCommit();
  const day = new Date().toISOString().slice(0, 10);
  const before = readRecord(file);
  const cells: Record<string, RecordedCell> = { ...before[part.name] };
  for (const result of results)
    cells[result.cell] = {
      ...result,
      failures: result.failures.map(({ seed, message }) => ({
        seed,
        message: shortMessage(message),
      })),
      curves: result.curves && rounded(result.curves),
      seconds: Number(result.seconds.toPrecision(3)),
      day,
      machine: MACHINE,
      commit,
    };
  const kept = part.cells.flatMap(({ name }) => {
    const cell = cells[name];
    return cell === undefined || cell.expects === 'none' ? [] : [[name, cell] as const];
  });
  const all = { ...before, [part.name]: Object.fromEntries(kept) };
  const written = `${file}.${process.pid}.new`;
  writeFileSync(written, `${JSON.stringify(all, null, 1)}\n`);
  renameSync(written, file);
  return all;
}

export function shortMessage(message: string): string {
  const [first = '', ...rest] = message
    .split('\n')
    .map(line => line.trimEnd().slice(0, MAX_LINE))
    .filter(line => line !== '' && !/^\s+at /.test(line));
  const left = rest.length - LAST_LINES;
  return [first, ...(left > 0 ? [`(${left} lines more)`] : []), ...rest.slice(-LAST_LINES)].join(
    '\n',
  );
}

function rounded(curves: Curves): Curves {
  return Object.fromEntries(
    Object.entries(curves).map(([name, values]) => [
      name,
      values.map(value => Number(value.toPrecision(3))),
    ]),
  );
}
