import { IncompleteError } from '../base/errors.js';
import { type Shard, shardName } from '../base/shard.js';
import type { CheckedFile } from './check-job-file.js';
import type { DeliveredJob, JobResults } from './job.js';

/** A total that the service states, and the total that was delivered. */
export interface ExpectedAndDelivered {
  /** The total that the service states, such as the number of files. Absent if it states none. */
  readonly expected: number | undefined;
  readonly delivered: number;
}

/** The outcome of a download: what was delivered, and what is missing. */
export interface JobVerdict {
  readonly uuid: string;
  readonly title: string;
  /** The shard that was downloaded. Absent if the whole job was downloaded. */
  readonly shard?: Shard | undefined;
  /**
   * The number of files. `expected` is the `urlCount` of the service's listing or, for a shard, the number of
   * its files.
   */
  readonly files: ExpectedAndDelivered;
  /**
   * The compressed size in bytes. `expected` is the `totalFileSizeBytes` of the service's listing. For a
   * shard, `expected` is `undefined`.
   */
  readonly bytes: ExpectedAndDelivered;
  /** The number of posts. `expected` is the `activityCount` of the job. For a shard, it is `undefined`. */
  readonly posts: ExpectedAndDelivered;
  /**
   * The minutes that the service reports as possibly incomplete, as `YYYYMMDDHHMM`. Downloading again does
   * not change them.
   */
  readonly suspectMinutes: readonly string[];
  /** The missing segments, as `YYYYMMDDHHMM`, and the totals that differ. */
  readonly missing: readonly string[];
  /** One sentence about the outcome, for people. */
  readonly summary: string;
  /**
   * The exit code for a script: 0 if the download is complete, 1 if something is missing, 2 if it is complete
   * but some minutes are suspect.
   */
  readonly exitCode: 0 | 1 | 2;
}

/** What this run and the earlier runs that it resumed have delivered so far, and what is missing. */
export interface Delivered {
  readonly files: number;
  readonly bytes: number;
  readonly posts: number;
  readonly suspectMinutes: readonly string[];
  readonly missing: readonly string[];
}

export function sumDelivered(found: readonly CheckedFile[], missing: readonly string[]): Delivered {
  const sum = (of: (file: CheckedFile) => number) => found.reduce((all, file) => all + of(file), 0);
  return {
    files: found.length,
    bytes: sum(file => file.bytes),
    posts: sum(file => file.posts),
    suspectMinutes: found.flatMap(file => file.suspectMinutes),
    missing,
  };
}

/**
 * The service's data about a delivered job. The expected totals of the download are computed from this data.
 */
export interface VerdictBasis {
  readonly job: Pick<DeliveredJob, 'uuid' | 'title'> & {
    readonly results: Pick<JobResults, 'activityCount'>;
  };
  readonly urlCount: number;
  readonly totalBytes: number | undefined;
  /** How many files the listing contains. */
  readonly listed: number;
  readonly suspectMinutes: readonly string[];
}

/** @param part The requested shard, and its number of files. */
export function jobVerdict(
  basis: VerdictBasis,
  delivered: Delivered,
  part?: { readonly shard: Shard; readonly files: number },
): JobVerdict {
  const { job, urlCount, totalBytes } = basis;
  const shard = part?.shard;
  const { missing } = delivered;
  const ofWhole = <T>(total: T) => (shard === undefined ? total : undefined);
  const files = { expected: part?.files ?? urlCount, delivered: delivered.files };
  const bytes = { expected: ofWhole(totalBytes), delivered: delivered.bytes };
  const posts = { expected: ofWhole(job.results.activityCount), delivered: delivered.posts };
  const suspectMinutes = [
    ...new Set([...basis.suspectMinutes, ...delivered.suspectMinutes]),
  ].toSorted();
  const { listed } = basis;
  const short = [
    listed === urlCount ? '' : `${listed} of ${urlCount} files are listed (urlCount)`,
    // If files are missing, the totals differ anyway, so the differences are not reported.
    missing.length > 0 ? '' : differs('bytes', bytes, 'totalFileSizeBytes'),
    missing.length > 0 ? '' : differs('posts', posts, 'activityCount'),
  ].filter(text => text !== '');
  const all = [...missing, ...short];
  return {
    uuid: job.uuid,
    title: job.title,
    ...(shard !== undefined && { shard }),
    files,
    bytes,
    posts,
    suspectMinutes,
    missing: all,
    summary: [
      `Job ${JSON.stringify(job.title)} (${job.uuid})${shard === undefined ? '' : `, shard ${shardName(shard)}`}: ${of(files)} files with ${of(posts)} posts`,
      all.length === 0 ? 'nothing is missing' : `missing: ${firstNames(all)}`,
      suspectMinutes.length === 0
        ? 'no suspect minutes'
        : `${suspectMinutes.length} suspect minutes: ${firstNames(suspectMinutes)}`,
    ].join('; '),
    exitCode: all.length > 0 ? 1 : suspectMinutes.length > 0 ? 2 : 0,
  };
}

/**
 * Returns the error for a verdict. Returns `undefined` if the job counts as complete.
 *
 * @param lacksFiles Whether files are missing. With `totals: 'report'`, wrong totals are an error only if
 *   files are missing.
 */
export function incompleteJob(
  { missing, summary }: JobVerdict,
  { totals, lacksFiles, cause, cursor }: IncompleteJobOptions,
): IncompleteError | undefined {
  if (missing.length === 0 || (totals === 'report' && !lacksFiles)) return undefined;
  const reason = cause instanceof Error ? `. The last error: ${cause.message}` : '';
  return new IncompleteError(`${summary}${reason}`, { cause, missing, cursor, retryable: true });
}

interface IncompleteJobOptions {
  readonly totals: 'require' | 'report';
  readonly lacksFiles: boolean;
  readonly cause: unknown;
  readonly cursor?: unknown;
}

function differs(what: string, { expected, delivered }: ExpectedAndDelivered, field: string) {
  if (expected === undefined || expected === delivered) return '';
  return `${delivered} of ${expected} ${what} (${field})`;
}

function of({ expected, delivered }: ExpectedAndDelivered): string {
  return expected === undefined ? String(delivered) : `${delivered} of ${expected}`;
}

const MAX_SHOWN = 20;

function firstNames(names: readonly string[]): string {
  const rest = names.length - MAX_SHOWN;
  const shown = names.slice(0, MAX_SHOWN).join(', ');
  return rest > 0 ? `${shown} and ${rest} more` : shown;
}
