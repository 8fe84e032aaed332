import { abortable } from '../abortable.js';
import type { Scan } from '../scan/scan.js';
import type { Run } from './flow.js';
import type { InternalBatch, InternalBatches } from './internal-flow.js';
import { workAhead } from './work-ahead.js';

/**
 * Scans whole files in other threads, ahead of the reader, and yields their posts in order. All other
 * input, and files that cannot be scanned, go through `make`.
 */
export async function* scanAhead<Post>(
  input: InternalBatches<Uint8Array>,
  scan: Scan,
  make: (records: InternalBatches<Uint8Array>) => InternalBatches<Post>,
  { progress, signal }: Pick<Run, 'progress' | 'signal'>,
): InternalBatches<Post> {
  const begin = ({ stored }: InternalBatch<Uint8Array>) =>
    stored && abortable(scan.scan(stored.task), signal);
  for await (const { item: batch, result: file } of workAhead(input, begin, scan.ahead)) {
    if (file === undefined) {
      yield* make(batch.stored?.read() ?? only(batch));
      continue;
    }
    progress?.drop('messages', file.messages);
    const { cursor, origin } = batch;
    const rows = new Uint32Array(file.columns.count);
    for (let row = 0; row < rows.length; row++) rows[row] = row;
    yield { items: [], cursor, origin, scanned: { file, rows }, release: () => file.release() };
  }
}

async function* only<T>(batch: T): AsyncGenerator<T, void, undefined> {
  yield batch;
}
