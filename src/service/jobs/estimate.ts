import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { floorTo, HOUR, MINUTE, SECOND, type Window } from '../../base/time.js';
import type { Archive } from '../archive/archive.js';
import { Deadline, EventLoopYield } from '../event-loop-yield.js';
import type { ServiceSettings } from '../service-options.js';
import { type JobRecord, jobDays, type Quote } from './job-record.js';
import { compileJobRules } from './job-rules.js';

export interface EstimateOptions {
  readonly archive: Archive;
  readonly signal: AbortSignal;
  /** Called with the completed fraction of the sample, 0 to 1. */
  onProgress(fraction: number): void;
}

/** The number and size of the matches in a window, extrapolated from a sample of its minutes. */
export interface Estimate {
  readonly posts: number;
  /** The compressed size in bytes. */
  readonly bytes: number;
  /** The time to read the whole window, in milliseconds. */
  readonly readMs: number;
}

/** The number of minutes in a sample. A shorter window is counted completely. */
const SAMPLE_MINUTES = 600;
/**
 * The time limit of the sample, in milliseconds of real time. After this time, the sample continues only if
 * it has fewer than `MIN_SAMPLE_MINUTES` minutes and fewer than `MIN_SAMPLE_POSTS` posts.
 */
const SAMPLE_MS = 1_500;
const MIN_SAMPLE_MINUTES = 10;
const MIN_SAMPLE_POSTS = 1_000;
/** The number of bytes of posts to compress, in order to measure the compression ratio. */
const PROBE_BYTES = 512 * 1024;

/** Counts the matches of a job's rules in minutes that are spread evenly over its window. */
export async function estimateJob(
  job: Pick<JobRecord, 'from' | 'to' | 'rules'>,
  { archive, signal, onProgress }: EstimateOptions,
): Promise<Estimate> {
  const matcher = await compileJobRules(job.rules, signal);
  const minutes = (job.to - job.from) / MINUTE;
  const sample = sampleOf(minutes);
  const probe: Uint8Array[] = [];
  let probeBytes = 0;
  let posts = 0;
  let bytes = 0;
  let tested = 0;
  // The number of minutes that were read. It has a fraction if the last minute was read only in part.
  let done = 0;
  const startedAt = performance.now();
  const deadline = new Deadline(SAMPLE_MS);
  const isEnough = () =>
    (done >= MIN_SAMPLE_MINUTES || tested >= MIN_SAMPLE_POSTS) && deadline.isPast;
  const work = new EventLoopYield(signal);
  for (const minute of sample) {
    const from = job.from + minute * MINUTE;
    let part = 1;
    for await (const segment of archive.scan({ from, to: from + MINUTE }, { signal }))
      for (const [index, { activity }] of segment.posts.entries()) {
        if (isEnough()) {
          part = index / segment.posts.length;
          break;
        }
        if (work.isDue) await work.pause();
        tested++;
        if (matcher.match(activity).length === 0) continue;
        posts++;
        bytes += activity.byteLength;
        if (probeBytes >= PROBE_BYTES) continue;
        probe.push(activity.raw);
        probeBytes += activity.byteLength;
      }
    done += part;
    const pastRatio = Math.min(1 - deadline.leftMs / SAMPLE_MS, 1);
    onProgress(Math.max(done / sample.length, pastRatio * 0.99));
    if (isEnough()) break;
    await work.pause();
  }
  const scale = minutes / done;
  const compressed = probeBytes === 0 ? 0 : (await promisify(gzip)(Buffer.concat(probe))).length;
  return {
    posts: posts * scale,
    bytes: probeBytes === 0 ? 0 : bytes * (compressed / probeBytes) * scale,
    readMs: (performance.now() - startedAt) * scale,
  };
}

const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

/**
 * Returns the indices of the minutes to read. They are ordered so that every prefix of the list is spread evenly
 * over the window.
 */
function sampleOf(minutes: number): readonly number[] {
  const fraction = (i: number) => (i * GOLDEN_RATIO) % 1;
  if (minutes <= SAMPLE_MINUTES)
    return Array.from({ length: minutes }, (_, i) => i).sort((a, b) => fraction(a) - fraction(b));
  const sample = Array.from({ length: SAMPLE_MINUTES }, (_, i) =>
    Math.floor(fraction(i) * minutes),
  );
  return [...new Set(sample)];
}

export type QuoteTerms = Pick<ServiceSettings, 'limits' | 'jobDollarsPerDay' | 'jobDwellMs'>;

export function quoteOf(
  window: Window,
  { posts, bytes, readMs }: Estimate,
  { limits, jobDollarsPerDay, jobDwellMs }: QuoteTerms,
  now: number,
): Quote {
  const runMs = jobDwellMs.running + jobDwellMs.completed;
  const hours = Number.isFinite(runMs) ? (runMs + readMs) / HOUR : 0;
  return {
    ...(jobDollarsPerDay !== undefined && { costDollars: jobDays(window) * jobDollarsPerDay }),
    estimatedActivityCount: Math.max(limits.jobEstimateMin, orderOfMagnitude(posts)),
    estimatedDurationHours: Math.ceil(hours * 10) / 10,
    estimatedFileSizeMb: megabytes(bytes),
    expiresAt: floorTo(SECOND, now + limits.jobRetentionMs),
  };
}

/** Returns the order of magnitude of a count, such as 1000 for 1000 to 9999. */
function orderOfMagnitude(count: number): number {
  return 10 ** (String(Math.floor(count)).length - 1);
}

/** Converts bytes to megabytes, rounded to 100 bytes, because jobs over a generated archive are small. */
export function megabytes(bytes: number): number {
  return Math.round(bytes / 100) / 10_000;
}
