import {
  activities,
  dedupe,
  files,
  gunzip,
  jsonLines,
  localFiles,
  pipeline,
  routeByTag,
} from 'millrace';
import type { Work } from '../question.js';

export async function run(work: Work, options: { workers?: number } = {}): Promise<void> {
  await pipeline(
    localFiles(work.files),
    gunzip(),
    jsonLines(),
    activities(),
    dedupe(),
    routeByTag(),
    files({ path: `${work.out}/{tag}.jsonl`, ...options }),
  );
}
