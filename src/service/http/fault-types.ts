import type { Endpoint } from './router.js';

interface Hits {
  /** How many requests or jobs it hits; 1 when absent. `'always'`: until it is cleared. */
  readonly times?: number | 'always' | undefined;
  /** How many requests or jobs pass before the first hit. */
  readonly skip?: number | undefined;
}

interface Aim extends Hits {
  /**
   * Only requests of this family; any but the control path and the pages when absent. For a fault of a stream: only
   * `replay`, or only `compliance`.
   */
  readonly endpoint?: Endpoint | undefined;
  /** Only requests whose path and query contain this text. */
  readonly path?: string | undefined;
}

interface JobAim extends Hits {
  /** Only the job with this title. */
  readonly title?: string | undefined;
}

/** The service sends an error response instead of the real one. */
export interface StatusFault extends Aim {
  readonly kind: 'status';
  readonly status: number;
  readonly message?: string | undefined;
  /** Seconds, sent as `Retry-After`. */
  readonly retryAfter?: number | undefined;
}

/** The body ends early. Bytes are counted as they go over the wire, after compression. */
export interface CutFault extends Aim {
  readonly kind: 'cut';
  readonly afterBytes: number;
  /**
   * `reset`: the connection is reset (the default). `close`: it is closed in the middle of the body.
   * `finish`: the HTTP message is complete, only its content is short.
   */
  readonly end?: 'reset' | 'close' | 'finish' | undefined;
  /** Send up to the next multi-byte character and cut within it. The response is not compressed. */
  readonly inCharacter?: boolean | undefined;
}

/** The body stalls: nothing is sent after a number of bytes. */
export interface StallFault extends Aim {
  readonly kind: 'stall';
  readonly afterBytes: number;
  /** Milliseconds of real time after which the body continues. By default it never does. */
  readonly forMs?: number | undefined;
}

/** One bit of one byte of the body is wrong. */
export interface FlipFault extends Aim {
  readonly kind: 'flip';
  readonly atByte: number;
}

/** The response is late. Can be combined with another fault. */
export interface DelayFault extends Aim {
  readonly kind: 'delay';
  /** Milliseconds of real time. */
  readonly ms: number;
}

/** A page of counts times out: it ends after a number of whole buckets. */
export interface CountsTimeoutFault extends Aim {
  readonly kind: 'counts-timeout';
  readonly buckets: number;
}

/** A job fails at the end of its estimate, of its run, or of the validation of its files. */
export interface JobFailureFault extends JobAim {
  readonly kind: 'job-failure';
  readonly during: 'estimating' | 'running' | 'validation';
}

/** A job that completes has minutes whose data may be incomplete. */
export interface SuspectMinutesFault extends JobAim {
  readonly kind: 'suspect-minutes';
  /** `YYYYMMDDHHMM`; those within the job's window. */
  readonly minutes: readonly string[];
}

/** Totals of a delivered job are wrong by these numbers: in the listing of results, or in the job. */
export interface WrongTotalsFault extends JobAim {
  readonly kind: 'wrong-totals';
  readonly urlCount?: number | undefined;
  readonly totalFileSizeBytes?: number | undefined;
  readonly activityCount?: number | undefined;
}

/** A stream ends early, at a position in its uncompressed content. */
export interface ContentCutFault extends Aim {
  readonly kind: 'content-cut';
  /** Messages sent whole before it. Heartbeats do not count. */
  readonly afterMessages: number;
  /**
   * Where in the next message: in its middle, within a multi-byte character, or before it (the
   * default).
   */
  readonly within?: 'message' | 'character' | 'boundary' | undefined;
  /**
   * `reset`: the connection is reset (the default). `close`: it is closed without a last chunk.
   * `finish`: gzip and HTTP end normally; only the remaining messages are missing.
   */
  readonly end?: 'reset' | 'close' | 'finish' | undefined;
}

/** The `activity_count` at the end of a replay is wrong by a number. */
export interface WrongCountFault extends Aim {
  readonly kind: 'wrong-count';
  readonly by: number;
}

/** Minutes of a replay fail. Hits only replays with one of them in their window. */
export interface MinutesFailedFault extends Aim {
  readonly kind: 'minutes-failed';
  /** `YYYYMMDDHHMM`. */
  readonly minutes: readonly string[];
  /** Which of their messages are still delivered: none (the default), or every second one. */
  readonly deliver?: 'none' | 'part' | undefined;
}

/** A replay fails to complete from a minute on. Hits only replays with it in their window. */
export interface UnprocessedRangeFault extends Aim {
  readonly kind: 'unprocessed-range';
  /** `YYYYMMDDHHMM`; the range ends where the window does. */
  readonly fromDate: string;
  /**
   * Which messages of its first minute are still delivered: none (the default), or every second one.
   */
  readonly deliver?: 'none' | 'part' | undefined;
}

/**
 * More than a slow consumer can take: a replay does not wait for its consumer; a compliance stream
 * starts with the events of the last minutes, in one burst.
 */
export interface FloodFault extends Aim {
  readonly kind: 'flood';
  /** The number of minutes of compliance events. @default 60 */
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

/** A planted fault, with its id and how often it was hit. */
export type PlantedFault = Fault & { readonly id: number; readonly hits: number };
