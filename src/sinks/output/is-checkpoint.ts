import { isRecord } from '../../is-record.js';
import { isCount } from '../../json/json.js';
import { DAMAGED } from './output-file.js';

/** Whether what a file says has the types of a checkpoint: a wrong count would truncate files in the wrong place. */
export function isCheckpoint({ state, cursor, files }: Record<string, unknown>): boolean {
  return (
    (state === 'running' || state === 'finishing' || state === 'complete') &&
    cursor !== undefined &&
    Array.isArray(files) &&
    files.every(isCommittedFile)
  );
}

/** Whether it is the entry of a file. */
export function isCommittedFile(file: unknown): boolean {
  if (!isRecord(file)) return false;
  const { path, posts, bytes, lineBytes = bytes, branch = 0, finished = true, settled = 0 } = file;
  return (
    finished === true &&
    typeof path === 'string' &&
    path !== '' &&
    [posts, bytes, lineBytes, settled].every(isCount) &&
    (branch === DAMAGED || isCount(branch))
  );
}
