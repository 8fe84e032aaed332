import type { OnDamaged } from '../json/records.js';
import type { Batches, DamagedStage, Run } from './flow.js';

/**
 * Runs a stage that skips damaged records. Each damaged record goes to the function of the caller, then to
 * the sink, before the next cursor is delivered.
 *
 * @param open Opens the stage with a function that takes damaged records, or with `undefined` if the first
 * one must end the run.
 * @param options `isLive` if the records come from live connections, so that a later run does not find them
 * at the same line.
 */
export function reportingDamaged<T>(
  { damaged, progress }: Run,
  onDamaged: OnDamaged | undefined,
  open: (report: OnDamaged | undefined) => Batches<T>,
  { isLive }: { readonly isLive: boolean } = { isLive: false },
): Batches<T> {
  if (onDamaged === undefined && damaged === undefined) return open(undefined);
  const stage = damaged?.stage();
  const batches = open(async (record, error) => {
    await onDamaged?.(record, error);
    const { line: _, byteOffset: __, ...placeless } = record;
    await stage?.keep(isLive ? placeless : record, error);
    progress?.drop('damaged', 1);
  });
  return stage === undefined ? batches : reaching(batches, stage);
}

async function* reaching<T>(batches: Batches<T>, stage: DamagedStage): Batches<T> {
  for await (const batch of batches) {
    if (batch.cursor !== undefined) stage.reached(batch.cursor);
    yield batch;
  }
}
