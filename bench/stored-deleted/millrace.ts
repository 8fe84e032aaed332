import path from 'node:path';
import {
  activities,
  files,
  gunzip,
  jsonLines,
  localFiles,
  openTombstones,
  pipeline,
  withoutDeleted,
} from 'millrace';
import type { Work } from '../question.js';

export async function run(
  { files: [folder = '', ...stored], out }: Work,
  options: { workers?: number } = {},
): Promise<void> {
  await using tombstones = await openTombstones(path.join(folder, 'tombstones'), {
    readOnly: true,
  });
  await pipeline(
    localFiles(stored),
    gunzip(),
    jsonLines(),
    activities(),
    withoutDeleted(tombstones),
    files({ path: `${out}/left.jsonl.gz`, ...options }),
  );
}
