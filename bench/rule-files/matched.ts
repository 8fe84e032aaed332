import {
  activities,
  files,
  gunzip,
  jsonLines,
  localFiles,
  type matchRules,
  pipeline,
  routeByTag,
} from 'millrace';
import type { Work } from '../question.js';

/**
 * @param operator The operator that matches posts against the rules. The rules are compiled before
 * the clock starts.
 */
export async function matched(
  work: Work,
  operator: ReturnType<typeof matchRules>,
  options: { workers?: number } = {},
): Promise<void> {
  await pipeline(
    localFiles(work.files),
    gunzip(),
    jsonLines(),
    activities(),
    operator,
    routeByTag(),
    files({ path: `${work.out}/{tag}.jsonl`, ...options }),
  );
}
