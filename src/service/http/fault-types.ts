import type { Endpoint } from './router.js';

interface Hits {
  /** The number of requests or jobs that the fault hits; 1 by default. `'always'`: until it is cleared. */
  readonly times?: number | 'always' | undefined;
  /** The number of matching requests or jobs that pass before the fault hits one. @default 0 */
  readonly skip?: number | undefined;
}

interface Aim extends Hits {
  /**
   * Hits only requests of this family of endpoints. If absent, hits all requests except requests to the
   * control path and to the pages of the console. A fault of a stream can only name `replay` or `compliance`.
   */
  readonly endpoint?: Endpoint | undefined;
  /** Hits only requests whose path and query contain this string. */
  readonly path?: string | undefined;
}

interface JobAim extends Hits {
  /** Hits only the job with this title. */
  readonly title?: string | undefined;
}

/** The service sends an error response instead of the real response. */
export interface StatusFault extends Aim {
  readonly kind: 'status';
  readonly status: number;
  readonly message?: string | undefined;
  /** The value of `Retry-After`, in seconds. */
  readonly retryAfter?: number | undefined;
}

/** The body ends early. `afterBytes` counts the bytes as they are sent, after compression. */
export interface CutFault extends Aim {
  readonly kind: 'cut';
  readonly afterBytes: number;
  /**
   * How the body ends. `reset` (the default): the connection is reset. `close`: the connection is closed in
   * the middle of the body. `finish`: the HTTP message is complete, but its content is too short.
   */
  readonly end?: 'reset' | 'close' | 'finish' | undefined;
  /**
   * Whether to continue to the next multi-byte character, and cut the body inside that character. The
   * response is then not compressed.
   */
  readonly inCharacter?: boolean | undefined;
}

/** The body stalls: after a number of bytes, nothing is sent. */
export interface StallFault extends Aim {
  readonly kind: 'stall';
  readonly afterBytes: number;
  /** The time after which the body continues, in milliseconds of real time. By default, it never continues. */
  readonly forMs?: number | undefined;
}

/** One bit of one byte of the body is wrong. */
export interface FlipFault extends Aim {
  readonly kind: 'flip';
  readonly atByte: number;
}

/** The response is late. This fault can be combined with another fault. */
export interface DelayFault extends Aim {
  readonly kind: 'delay';
  /** The delay in milliseconds of real time. */
  readonly ms: number;
}

/** A page of counts times out: it ends after `buckets` whole buckets. */
export interface CountsTimeoutFault extends Aim {
  readonly kind: 'counts-timeout';
  readonly buckets: number;
}

/** A job fails at the end of its estimate, of its run, or of the validation of its files. */
export interface JobFailureFault extends JobAim {
  readonly kind: 'job-failure';
  readonly during: 'estimating' | 'running' | 'validation';
}

/** A job is delivered, but the data of some minutes may be incomplete. */
export interface SuspectMinutesFault extends JobAim {
  readonly kind: 'suspect-minutes';
  /** The minutes as `YYYYMMDDHHMM`. Minutes outside the job's window are ignored. */
  readonly minutes: readonly string[];
}

/**
 * A delivered job reports wrong totals. Each member of this fault is added to the total of the same name. The
 * job has the total `activityCount`, and the list of its result files has the other two totals.
 */
export interface WrongTotalsFault extends JobAim {
  readonly kind: 'wrong-totals';
  readonly urlCount?: number | undefined;
  readonly totalFileSizeBytes?: number | undefined;
  readonly activityCount?: number | undefined;
}

/** A stream ends early, at a position in its uncompressed content. */
export interface ContentCutFault extends Aim {
  readonly kind: 'content-cut';
  /** The number of complete messages before the cut. Heartbeats do not count. */
  readonly afterMessages: number;
  /**
   * The position of the cut: in the middle of the next message (`message`), inside a multi-byte character of
   * the next message (`character`), or before the next message (`boundary`, the default).
   */
  readonly within?: 'message' | 'character' | 'boundary' | undefined;
  /**
   * How the stream ends. `reset` (the default): the connection is reset. `close`: it is closed without a last
   * chunk. `finish`: gzip and HTTP end normally, but the remaining messages are missing.
   */
  readonly end?: 'reset' | 'close' | 'finish' | undefined;
}

/** The `activity_count` at the end of a replay is wrong: `by` is added to it. */
export interface WrongCountFault extends Aim {
  readonly kind: 'wrong-count';
  readonly by: number;
}

/** Minutes of a replay fail. Hits only replays whose window contains one of them. */
export interface MinutesFailedFault extends Aim {
  readonly kind: 'minutes-failed';
  /** The minutes as `YYYYMMDDHHMM`. */
  readonly minutes: readonly string[];
  /** Which messages of `minutes` are still delivered: none (the default), or every second one. */
  readonly deliver?: 'none' | 'part' | undefined;
}

/**
 * A replay does not process the rest of its window, from a minute on. Hits only replays whose window contains
 * this minute.
 */
export interface UnprocessedRangeFault extends Aim {
  readonly kind: 'unprocessed-range';
  /** The first minute, as `YYYYMMDDHHMM`. The range ends at the end of the window. */
  readonly fromDate: string;
  /** Which messages of the minute `fromDate` are still delivered: none (the default), or every second one. */
  readonly deliver?: 'none' | 'part' | undefined;
}

/**
 * The service sends faster than a slow consumer can read. With this fault, a replay does not wait for its
 * consumer, and a compliance stream starts with the events of the last `minutes` in one burst.
 */
export interface FloodFault extends Aim {
  readonly kind: 'flood';
  /** How many minutes of compliance events to send. @default 60 */
  readonly minutes?: number | undefined;
}

/** A fault of the body of a response. */
export type BodyFault = CutFault | StallFault | FlipFault;
/** A fault of one request and its response. */
export type RequestFault = StatusFault | BodyFault | DelayFault | CountsTimeoutFault;
/** A fault of a historical job. */
export type JobFault = JobFailureFault | SuspectMinutesFault | WrongTotalsFault;
/** A fault of a replay or compliance stream. */
export type StreamFault =
  | ContentCutFault
  | WrongCountFault
  | MinutesFailedFault
  | UnprocessedRangeFault
  | FloodFault;
/** Any fault that can be planted with `service.faults.plant`. */
export type Fault = RequestFault | JobFault | StreamFault;

/** A planted fault, with its id and its number of hits. */
export type PlantedFault = Fault & { readonly id: number; readonly hits: number };
