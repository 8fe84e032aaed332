import { formatTimestamp } from '../../time.js';
import type { WrongTotalsFault } from '../http/fault-kinds.js';
import { type DataUrls, dataPath, localName } from './data-urls.js';
import type { JobLife } from './job-runner.js';
import { formatInstant, type JobPlace, jobUrl } from './job-view.js';

/** Where and for how long the files of a job can be had. */
export interface ListingPlace extends JobPlace {
  /** The origin of the files. */
  readonly filesUrl: string;
  readonly urls: DataUrls;
  readonly expiresAt: number;
}

/** The results of a delivered job (service.md 2.6), the files in order of time. */
export function resultsListing(
  life: JobLife,
  place: ListingPlace,
  wrong?: WrongTotalsFault | undefined,
): object {
  const { job, files } = life;
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return {
    urlCount: files.length + (wrong?.urlCount ?? 0),
    urlList: files.map(({ segment }) => fileUrl(life, segment, place)),
    totalFileSizeBytes: bytes + (wrong?.totalFileSizeBytes ?? 0),
    ...(hasSuspectMinutes(life) && {
      suspectMinutesURL: jobUrl(job, place, '/suspectMinutes.json'),
    }),
    expiresAt: formatInstant(place.expiresAt),
  };
}

/** The same as lines of a local name, a tab and a URL. */
export function resultsCsv(life: JobLife, place: ListingPlace): string {
  return life.files
    .map(({ segment }) => `${localName(life.job, segment)}\t${fileUrl(life, segment, place)}\n`)
    .join('');
}

export function hasSuspectMinutes({ job }: JobLife): boolean {
  return job.suspectMinutes !== undefined && job.suspectMinutes.length > 0;
}

export function suspectMinutesView({ job }: JobLife): object {
  return { suspectMinutes: job.suspectMinutes?.map(formatTimestamp) };
}

function fileUrl({ job }: JobLife, segment: number, place: ListingPlace): string {
  const path = dataPath(job, segment, place.publisher, place.account);
  return place.filesUrl + place.urls.sign(path, place.expiresAt);
}
