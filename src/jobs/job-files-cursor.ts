import { createHash } from 'node:crypto';
import { OptionError } from '../errors.js';
import type { Cursor } from '../flow/flow.js';
import type { JobFile, JobFileList } from './job-file-list.js';
import type { Delivered } from './job-verdict.js';

/** How far a download has come: files up to `next` are done, but for those that are missing. */
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

/** Turns places into cursors and back, for one list of files. */
export class DownloadCursors {
  readonly #list: JobFileList;
  /** After so many files, a mark of which they were. */
  readonly #marks: readonly string[];

  constructor(list: JobFileList) {
    this.#list = list;
    let mark = '';
    this.#marks = ['', ...list.files.map(file => (mark = digestOf(mark, file)))];
  }

  cursorAt(place: DownloadState): Cursor {
    return {
      source: 'job-files',
      job: this.#list.job.uuid,
      seen: this.#marks[place.next] ?? '',
      ...place,
    };
  }

  /** @throws OptionError when the cursor is of another job, or its files are no longer the same. */
  stateAt(resume: Cursor | undefined): DownloadState {
    if (resume === undefined) return START;
    const { job } = this.#list;
    const { source, job: uuid, seen, ...rest } = resume;
    const place = rest as unknown as DownloadState;
    if (source !== 'job-files' || uuid !== job.uuid)
      throw new OptionError(
        'resume',
        `The place to go on from does not belong to the job ${JSON.stringify(job.title)} (${job.uuid}). Remove the checkpoint to begin anew`,
      );
    if (!isDownloadState(place) || seen !== this.#marks[place.next])
      throw new OptionError(
        'resume',
        `The job ${JSON.stringify(job.title)} (${job.uuid}) lists other files than those that were read before. Remove the checkpoint to begin anew`,
      );
    return place;
  }
}

function isDownloadState({
  next,
  files,
  bytes,
  posts,
  suspectMinutes,
  missing,
}: DownloadState): boolean {
  const counts = [next, files, bytes, posts].every(count => Number.isSafeInteger(count));
  return counts && Array.isArray(suspectMinutes) && Array.isArray(missing);
}

function digestOf(before: string, { name }: JobFile): string {
  return createHash('sha256').update(`${before}\n${name}`).digest('hex').slice(0, 16);
}
