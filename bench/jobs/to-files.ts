import {
  activities,
  dedupe,
  files,
  gunzip,
  jobFiles,
  jsonLines,
  pipeline,
  routeByTag,
} from 'millrace';
import type { Work } from '../question.js';
import { benchAccount } from './download.js';

export async function run(work: Work, options: { workers?: number } = {}): Promise<void> {
  await pipeline(
    jobFiles(benchAccount(work.files[0]), 'benchjob01'),
    gunzip(),
    jsonLines(),
    activities(),
    dedupe(),
    routeByTag(),
    files({ path: `${work.out}/{tag}.jsonl`, ...options }),
  );
}
