import { formatTimestamp } from '../../time.js';
import type { WrongTotalsFault } from '../http/fault-kinds.js';
import { type DataUrls, dataPath, localName } from './data-urls.js';
import type { JobRunner } from './job-runner.js';
import { formatInstant, type JobAddress, jobUrl } from './job-views.js';

/** Where and for how long the files of a job can be had. */
export interface FileAddress extends JobAddress {
  /** The origin of the files. */
  readonly filesUrl: string;
  readonly urls: DataUrls;
  readonly expiresAt: number;
}

/** The results of a delivered job (service.md 2.6), the files in order of time. */
export function resultsListing(
  runner: JobRunner,
  place: FileAddress,
  wrong?: WrongTotalsFault | undefined,
): object {
  const { job, files } = runner;
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return {
    urlCount: files.length + (wrong?.urlCount ?? 0),
    urlList: files.map(({ segment }) => fileUrl(runner, segment, place)),
    totalFileSizeBytes: bytes + (wrong?.totalFileSizeBytes ?? 0),
    ...(hasSuspectMinutes(runner) && {
      suspectMinutesURL: jobUrl(job, place, '/suspectMinutes.json'),
    }),
    expiresAt: formatInstant(place.expiresAt),
  };
}

/** The same as lines of a local name, a tab and a URL. */
export function resultsCsv(runner: JobRunner, place: FileAddress): string {
  return runner.files
    .map(({ segment }) => `${localName(runner.job, segment)}\t${fileUrl(runner, segment, place)}\n`)
    .join('');
}

export function hasSuspectMinutes({ job }: JobRunner): boolean {
  return job.suspectMinutes !== undefined && job.suspectMinutes.length > 0;
}

export function suspectMinutesView({ job }: JobRunner): object {
  return { suspectMinutes: job.suspectMinutes?.map(formatTimestamp) };
}

function fileUrl({ job }: JobRunner, segment: number, place: FileAddress): string {
  const path = dataPath(job, segment, place.publisher, place.account);
  return place.filesUrl + place.urls.sign(path, place.expiresAt);
}
