import type { OnDamaged } from '../json/records.js';
import type { Batches, DamagedStage, Run } from './flow.js';

/**
 * Runs a stage that skips damaged records. Each damaged record is passed to the caller's function, then to
 * the sink, before the next cursor is delivered.
 *
 * @param open Opens the stage. Its argument is a function that receives damaged records, or `undefined` if
 *   the first damaged record must end the run.
 * @param options Set `isLive` if the records come from live connections. A later run does not find such a
 *   record at the same line, so its position is not reported.
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
