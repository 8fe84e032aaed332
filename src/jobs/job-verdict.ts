import type { JobFileList } from './job-file-list.js';

export interface ExpectedAndDelivered {
  /** What the service says; absent where it does not. */
  readonly expected: number | undefined;
  readonly delivered: number;
}

/** How a download of a job ended. */
export interface JobVerdict {
  readonly uuid: string;
  readonly title: string;
  /** Against `urlCount` (service.md 4.6.5). */
  readonly files: ExpectedAndDelivered;
  /** Compressed, against `totalFileSizeBytes`. */
  readonly bytes: ExpectedAndDelivered;
  /** Against `activityCount`. */
  readonly posts: ExpectedAndDelivered;
  /** Minutes that the service says may be incomplete, `YYYYMMDDHHMM`; nothing can be done about them. */
  readonly suspectMinutes: readonly string[];
  /** Segments that are not there, `YYYYMMDDHHMM`, and totals that are not reached. */
  readonly missing: readonly string[];
  /** All of one sentence, for people. */
  readonly summary: string;
  /** For a script: 0 complete, 1 something is missing, 2 complete but for suspect minutes. */
  readonly exitCode: 0 | 1 | 2;
}

/** What has been delivered so far, runs before a resume included. */
export interface Delivered {
  readonly files: number;
  readonly bytes: number;
  readonly posts: number;
  /** What files said of their own minutes. */
  readonly suspectMinutes: readonly string[];
  /** Names of files that could not be had. */
  readonly missing: readonly string[];
}

/** Holds what was delivered against what the service says. */
export function jobVerdict(list: JobFileList, delivered: Delivered): JobVerdict {
  const { job, urlCount, totalBytes } = list;
  const { missing } = delivered;
  const files = { expected: urlCount, delivered: delivered.files };
  const bytes = { expected: totalBytes, delivered: delivered.bytes };
  const posts = { expected: job.results.activityCount, delivered: delivered.posts };
  const suspectMinutes = [
    ...new Set([...list.suspectMinutes, ...delivered.suspectMinutes]),
  ].toSorted();
  const listed = list.files.length;
  const short = [
    listed === urlCount ? '' : `${listed} of ${urlCount} files are listed (urlCount)`,
    // Where files are missing, totals cannot be reached.
    missing.length > 0 ? '' : differs('bytes', bytes, 'totalFileSizeBytes'),
    missing.length > 0 ? '' : differs('posts', posts, 'activityCount'),
  ].filter(text => text !== '');
  const all = [...missing, ...short];
  return {
    uuid: job.uuid,
    title: job.title,
    files,
    bytes,
    posts,
    suspectMinutes,
    missing: all,
    summary: [
      `Job ${JSON.stringify(job.title)} (${job.uuid}): ${of(files)} files with ${of(posts)} posts`,
      all.length === 0 ? 'nothing is missing' : `missing: ${firstNames(all)}`,
      suspectMinutes.length === 0
        ? 'no suspect minutes'
        : `${suspectMinutes.length} suspect minutes: ${firstNames(suspectMinutes)}`,
    ].join('; '),
    exitCode: all.length > 0 ? 1 : suspectMinutes.length > 0 ? 2 : 0,
  };
}

function differs(what: string, { expected, delivered }: ExpectedAndDelivered, field: string) {
  if (expected === undefined || expected === delivered) return '';
  return `${delivered} of ${expected} ${what} (${field})`;
}

function of({ expected, delivered }: ExpectedAndDelivered): string {
  return expected === undefined ? String(delivered) : `${delivered} of ${expected}`;
}

const MOST_SHOWN = 20;

function firstNames(names: readonly string[]): string {
  const rest = names.length - MOST_SHOWN;
  const shown = names.slice(0, MOST_SHOWN).join(', ');
  return rest > 0 ? `${shown} and ${rest} more` : shown;
}
