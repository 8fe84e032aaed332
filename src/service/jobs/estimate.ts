import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { MINUTE, type Window } from '../../time.js';
import type { Archive } from '../archive/archive.js';
import { EventLoopYield } from '../event-loop-yield.js';
import type { JobRule } from './job.js';
import { jobMatcher } from './job-matcher.js';

export interface EstimateOptions {
  readonly archive: Archive;
  readonly signal: AbortSignal;
  /** Told how much of the sample is done, 0 to 1. */
  onProgress(fraction: number): void;
}

/** What a window holds, as a sample of its minutes tells. */
export interface Estimate {
  readonly posts: number;
  /** Compressed. */
  readonly bytes: number;
  /** Milliseconds that it takes to read the whole window. */
  readonly readMs: number;
}

/** Minutes of a sample. A shorter window is counted to the last post. */
const SAMPLE_MINUTES = 600;
/** Milliseconds of real time after which a sample of at least a few minutes is enough. */
const ENOUGH_MS = 1_500;
const FEWEST_MINUTES = 10;
/** Bytes of posts from which the gain of compression is taken. */
const PROBE_BYTES = 512 * 1024;

/** Counts what rules match in minutes spread evenly over a window. */
export async function estimate(
  window: Window,
  rules: readonly JobRule[],
  { archive, signal, onProgress }: EstimateOptions,
): Promise<Estimate> {
  const matcher = await jobMatcher(rules, signal);
  const minutes = (window.to - window.from) / MINUTE;
  const sample = spread(minutes);
  const probe: Uint8Array[] = [];
  let probed = 0;
  let posts = 0;
  let bytes = 0;
  let done = 0;
  const began = performance.now();
  const work = new EventLoopYield(signal);
  for (const minute of sample) {
    const from = window.from + minute * MINUTE;
    for await (const segment of archive.scan({ from, to: from + MINUTE }, { signal }))
      for (const { activity } of segment.posts) {
        if (matcher.match(activity).length === 0) continue;
        posts++;
        bytes += activity.byteLength;
        if (probed >= PROBE_BYTES) continue;
        probe.push(activity.raw);
        probed += activity.byteLength;
      }
    done++;
    const spent = performance.now() - began;
    onProgress(Math.max(done / sample.length, Math.min(spent / ENOUGH_MS, 1) * 0.99));
    if (spent > ENOUGH_MS && done >= FEWEST_MINUTES) break;
    await work.pause();
  }
  const scale = minutes / done;
  const packed = probed === 0 ? 0 : (await promisify(gzip)(Buffer.concat(probe))).length / probed;
  return {
    posts: posts * scale,
    bytes: bytes * packed * scale,
    readMs: (performance.now() - began) * scale,
  };
}

const GOLDEN = (Math.sqrt(5) - 1) / 2;

/** Minutes from 0, in an order whose every beginning is spread over all of them. */
function spread(minutes: number): readonly number[] {
  const turn = (i: number) => (i * GOLDEN) % 1;
  if (minutes <= SAMPLE_MINUTES)
    return Array.from({ length: minutes }, (_, i) => i).sort((a, b) => turn(a) - turn(b));
  const places = Array.from({ length: SAMPLE_MINUTES }, (_, i) => Math.floor(turn(i) * minutes));
  return [...new Set(places)];
}
