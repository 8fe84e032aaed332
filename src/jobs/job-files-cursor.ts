import { createHash } from 'node:crypto';
import { OptionError } from '../errors.js';
import type { Cursor } from '../flow/flow.js';
import { isCount, isTexts, shaped } from '../json/json.js';
import { shareName } from '../share.js';
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
export class DownloadCursors {
  readonly #list: JobFileList;
  /** For each number of files, a digest of the names of the first ones. */
  readonly #digests: readonly string[];

  constructor(list: JobFileList) {
    this.#list = list;
    let digest = list.share === undefined ? '' : shareName(list.share);
    this.#digests = [digest, ...list.files.map(file => (digest = nextDigest(digest, file)))];
  }

  cursorAt(state: DownloadState): Cursor {
    return {
      source: 'job-files',
      job: this.#list.job.uuid,
      seen: this.#digests[state.next] ?? '',
      ...state,
    };
  }

  /** @throws OptionError when the cursor belongs to another job, or the list of files has changed. */
  stateAt(resume: Cursor | undefined): DownloadState {
    if (resume === undefined) return START;
    const { job } = this.#list;
    const { source, job: uuid, seen, ...state } = resume;
    if (source !== 'job-files' || uuid !== job.uuid)
      throw new OptionError(
        'resume',
        `jobFiles: the cursor does not belong to the job ${JSON.stringify(job.title)} (${job.uuid}). Remove the checkpoint to start again`,
      );
    if (!isDownloadState(state) || seen === undefined || seen !== this.#digests[state.next])
      throw new OptionError(
        'resume',
        `jobFiles: the job ${JSON.stringify(job.title)} (${job.uuid}) no longer lists the files that were read before. Remove the checkpoint to start again`,
      );
    return state;
  }
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
