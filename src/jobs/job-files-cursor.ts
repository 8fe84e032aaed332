import { createHash } from 'node:crypto';
import { OptionError } from '../base/errors.js';
import { shardName } from '../base/shard.js';
import type { Cursor } from '../flow/flow.js';
import { isCount, isTexts, shaped } from '../json/type-guards.js';
import type { JobFile, JobFileList } from './job-file-list.js';
import type { Delivered } from './job-verdict.js';

/** How far a download is: files before `next` were delivered, except for the missing ones. */
export interface DownloadState extends Delivered {
  readonly next: number;
}

const START: DownloadState = {
  next: 0,
  files: 0,
  bytes: 0,
  posts: 0,
  suspectMinutes: [],
  missing: [],
};

/** Converts between download states and cursors, for one list of files. */
export function downloadCursors({ basis: { job }, files, shard }: JobFileList) {
  let digest = shard === undefined ? '' : shardName(shard);
  /** For each number of files, a digest of the names of the first ones. */
  const digests = [digest, ...files.map(file => (digest = nextDigest(digest, file)))];
  const refused = (problem: string) =>
    new OptionError('resume', `jobFiles: ${problem}. Remove the checkpoint to start again`);
  const named = `the job ${JSON.stringify(job.title)} (${job.uuid})`;
  return {
    cursorAt: (state: DownloadState): Cursor => ({
      source: 'job-files',
      job: job.uuid,
      seen: digests[state.next] ?? '',
      ...state,
    }),

    /** @throws OptionError when the cursor belongs to another job, or the list of files has changed. */
    stateAt(resume: Cursor | undefined): DownloadState {
      if (resume === undefined) return START;
      const { source, job: uuid, seen, ...state } = resume;
      if (source !== 'job-files' || uuid !== job.uuid)
        throw refused(`the cursor does not belong to ${named}`);
      if (!isDownloadState(state) || seen === undefined || seen !== digests[state.next])
        throw refused(`${named} no longer lists the files that were read before`);
      return state;
    },
  };
}

const isDownloadState = shaped<DownloadState>({
  next: isCount,
  files: isCount,
  bytes: isCount,
  posts: isCount,
  suspectMinutes: isTexts,
  missing: isTexts,
});

function nextDigest(before: string, { name }: JobFile): string {
  return createHash('sha256').update(`${before}\n${name}`).digest('hex').slice(0, 16);
}
