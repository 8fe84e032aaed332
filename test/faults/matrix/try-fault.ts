import type { ComplianceGap } from 'millrace';
import type { Cell, Counts, Trial } from '../part.js';
import { mustEqual } from './compare.js';
import type { Fault, Planted } from './fault.js';
import { isNamed, mustName, type NamedMinutes } from './named-gaps.js';
import { type Place, RowRun } from './row-run.js';
import type { Row } from './rows.js';
import type { Clean } from './sent.js';
import { minuteOf, postedAt } from './windows.js';

export interface Target extends Omit<Place, 'folder'> {
  readonly row: Row;
  readonly fault: Fault;
  readonly cell: Cell;
  readonly clean: Clean;
}

export async function tryFault(
  { row, fault, cell, clean, library, cache }: Target,
  { random, folder, signal }: Trial,
): Promise<Counts> {
  const run = await RowRun.open(row, { folder, cache, library }, fault.world?.(row));
  const { world, prepared } = run;
  let planted: Planted | undefined;
  try {
    if (cell.expects === 'error') await run.watchRequests();
    planted = await fault.plant({ row, world, random, clean, ...prepared, out: run.out });
    const counts = await expectIn(run, cell, planted, signal);
    return counts;
  } finally {
    await planted?.lift();
    await run.close();
  }
}

async function expectIn(
  run: RowRun,
  cell: Cell,
  planted: Planted,
  signal: AbortSignal,
): Promise<Counts> {
  if (cell.expects === 'error') {
    const error = await run.typedErrorOf(() => run.run({ planted, signal }));
    const hits = Math.min(1, planted.hits());
    if (hits === 0 && error !== undefined) throw error;
    if (hits === 0 || (error === undefined && planted.mayRecover))
      return { hits, items: await run.mustBeComplete() };
    if (error === undefined)
      throw new Error(`The run ended as if nothing had been: ${planted.what?.() ?? ''}`);
    // The fault is lifted before the check, because the next run of `applyCompliance` would rewrite
    // the damaged file.
    if (run.row.name === 'applyCompliance') await planted.lift();
    await run.mustBeExact();
    await planted.lift();
    if (planted.isFinal) return { hits: 1, items: 0 };
    const cursors = await run.mustGoOnAt(error, signal);
    await run.mustRequestTheRest(() => run.run({ signal }));
    return { hits: 1, cursors, ...planted.counts?.(), items: await run.mustBeComplete() };
  }
  const gaps: ComplianceGap[] = [];
  const min = planted.gap?.minutes();
  await run.run({ planted, signal, gaps });
  const hits = Math.min(1, planted.hits());
  mustHaveWaited(planted);
  if (planted.gap !== undefined && min !== undefined)
    return { hits, gaps: gaps.length, items: await mustHaveGaps(run, gaps, planted.gap, min) };
  if (gaps.length > 0) throw new Error(`Gaps: ${JSON.stringify(gaps)}`);
  return { hits, ...planted.counts?.(), items: await run.mustBeComplete() };
}

export function mustHaveWaited({ wait, hits }: Planted): void {
  if (wait === undefined || hits() === 0) return;
  const waitedMs = wait.waitedMs();
  if (waitedMs < wait.minMs) throw new Error(`Waited ${waitedMs} ms, not ${wait.minMs} ms`);
}

async function mustHaveGaps(
  run: RowRun,
  gaps: readonly ComplianceGap[],
  { reason, minutes }: NamedMinutes,
  min: ReturnType<NamedMinutes['minutes']>,
): Promise<number> {
  mustName(gaps, { reason, min, max: minutes() });
  // A gap with the reason `unverified` contains no lost items. It only means that the number of
  // delivered items never matched the number that the service reported.
  if (reason === 'unverified') return run.mustBeComplete();
  const { expected } = run.prepared;
  const isLost = (id: string) => isNamed(gaps, minuteOf(postedAt(id)));
  const found = await run.row.pipeline.found(run.out);
  mustEqual(found, new Map([...expected].filter(([id]) => !isLost(id))));
  return found.length;
}
