import { OptionError } from '../errors.js';
import { parseTimestamp } from '../time.js';
import { ENDPOINTS, type Endpoint } from './router.js';

interface Hits {
  /** How many requests or jobs it hits; 1 when absent. `'always'`: until it is cleared. */
  readonly times?: number | 'always' | undefined;
  /** How many it lets pass before. */
  readonly skip?: number | undefined;
}

interface Aim extends Hits {
  /** Only requests of this family; any but the control path when absent. */
  readonly endpoint?: Endpoint | undefined;
  /** Only requests whose path and query contain this text. */
  readonly path?: string | undefined;
}

interface JobAim extends Hits {
  /** Only the job with this title. */
  readonly title?: string | undefined;
}

/** An error answer in place of the real one. */
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
  /** Go on to the next character of several bytes and cut within it. The answer is not compressed. */
  readonly inCharacter?: boolean | undefined;
}

/** The body stops coming. */
export interface StallFault extends Aim {
  readonly kind: 'stall';
  readonly afterBytes: number;
  /** Milliseconds of real time; for ever when absent. */
  readonly forMs?: number | undefined;
}

/** One bit of one byte of the body is wrong. */
export interface FlipFault extends Aim {
  readonly kind: 'flip';
  readonly atByte: number;
}

/** The answer comes late; goes together with another fault. */
export interface DelayFault extends Aim {
  readonly kind: 'delay';
  /** Milliseconds of real time. */
  readonly ms: number;
}

/** A page of counts times out after so many whole buckets (service.md 4.2 rule 2). */
export interface CountsTimeoutFault extends Aim {
  readonly kind: 'counts-timeout';
  readonly buckets: number;
}

/** A job fails at the end of its estimate, of its run, or of the validation of its files. */
export interface JobFailureFault extends JobAim {
  readonly kind: 'job-failure';
  readonly during: 'estimating' | 'running' | 'validation';
}

/** A job that completes has minutes whose data may be incomplete (service.md 2.6). */
export interface SuspectMinutesFault extends JobAim {
  readonly kind: 'suspect-minutes';
  /** `YYYYMMDDHHMM`; those within the job's window. */
  readonly minutes: readonly string[];
}

/** Totals of a delivered job are off by so many: in the listing of results, or in the job. */
export interface WrongTotalsFault extends JobAim {
  readonly kind: 'wrong-totals';
  readonly urlCount?: number | undefined;
  readonly totalFileSizeBytes?: number | undefined;
  readonly activityCount?: number | undefined;
}

export type BodyFault = CutFault | StallFault | FlipFault;
export type RequestFault = StatusFault | BodyFault | DelayFault | CountsTimeoutFault;
export type JobFault = JobFailureFault | SuspectMinutesFault | WrongTotalsFault;
export type Fault = RequestFault | JobFault;

export type PlantedFault = Fault & { readonly id: number; readonly hits: number };

/** What one request meets: at most one delay and one other fault. */
export interface MetFaults {
  readonly delay: DelayFault | undefined;
  readonly other: Exclude<RequestFault, DelayFault> | undefined;
}

interface Planted {
  readonly id: number;
  readonly fault: Fault;
  skip: number;
  left: number;
  hits: number;
}

/** The faults that are planted, in order. The first that a request meets is the one that it gets. */
export class Faults {
  #planted: Planted[] = [];
  #lastId = 0;

  /** Throws an `OptionError` for a fault that could not happen. */
  plant(fault: Fault): PlantedFault {
    checkFault(fault);
    const { times = 1, skip = 0 } = fault;
    const left = times === 'always' ? Number.POSITIVE_INFINITY : times;
    const planted: Planted = { id: ++this.#lastId, fault: { ...fault }, skip, left, hits: 0 };
    this.#planted.push(planted);
    return describe(planted);
  }

  /** Those that have hits left. */
  list(): readonly PlantedFault[] {
    return this.#planted.map(describe);
  }

  /** Clears one, or all; says how many. */
  clear(id?: number): number {
    const kept = id === undefined ? [] : this.#planted.filter(planted => planted.id !== id);
    const cleared = this.#planted.length - kept.length;
    this.#planted = kept;
    return cleared;
  }

  /** What a request meets; counts as a hit. */
  meet(endpoint: Endpoint, pathAndQuery: string): MetFaults {
    const take = (isWanted: (fault: Fault) => boolean): Fault | undefined =>
      this.#take(
        fault => isWanted(fault) && !isJobFault(fault) && isAimedAt(fault, endpoint, pathAndQuery),
      );
    return {
      delay: take(fault => fault.kind === 'delay') as DelayFault | undefined,
      other: take(fault => fault.kind !== 'delay') as MetFaults['other'],
    };
  }

  /** What a job meets; counts as a hit. */
  meetJob<Kind extends JobFault['kind']>(
    kind: Kind,
    title: string,
    isWanted: (fault: JobFault & { readonly kind: Kind }) => boolean = () => true,
  ): (JobFault & { readonly kind: Kind }) | undefined {
    type Met = JobFault & { readonly kind: Kind };
    return this.#take(
      fault =>
        fault.kind === kind &&
        isJobFault(fault) &&
        (fault.title === undefined || fault.title === title) &&
        isWanted(fault as Met),
    ) as Met | undefined;
  }

  #take(isMet: (fault: Fault) => boolean): Fault | undefined {
    for (const planted of this.#planted) {
      if (!isMet(planted.fault)) continue;
      if (planted.skip > 0) {
        planted.skip--;
        continue;
      }
      planted.hits++;
      if (--planted.left <= 0) this.clear(planted.id);
      return planted.fault;
    }
    return undefined;
  }
}

function describe({ id, fault, hits }: Planted): PlantedFault {
  return { id, hits, ...fault };
}

function isJobFault(fault: Fault): fault is JobFault {
  return Object.hasOwn(JOB_FIELDS, fault.kind);
}

function isAimedAt(fault: RequestFault, endpoint: Endpoint, pathAndQuery: string): boolean {
  if (fault.kind === 'counts-timeout' && endpoint !== 'counts') return false;
  return (
    endpoint !== 'control' &&
    (fault.endpoint === undefined || fault.endpoint === endpoint) &&
    (fault.path === undefined || pathAndQuery.includes(fault.path))
  );
}

type Check = (value: unknown) => boolean;

const isCount: Check = value => Number.isSafeInteger(value) && (value as number) >= 0;
const isPositive: Check = value => Number.isSafeInteger(value) && (value as number) > 0;
const isText: Check = value => typeof value === 'string' && value !== '';
const isDuration: Check = value => typeof value === 'number' && value >= 0 && value <= 2 ** 31 - 1;
const isOneOf =
  (...values: readonly unknown[]): Check =>
  value =>
    values.includes(value);
const isErrorStatus: Check = value => isCount(value) && Number(value) >= 400 && Number(value) < 600;

const isMinutes: Check = value =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every(minute => typeof minute === 'string' && parseTimestamp(minute) !== undefined);

const HITS: Record<string, Check> = {
  kind: isText,
  times: value => value === 'always' || isPositive(value),
  skip: isCount,
};
const AIM: Record<string, Check> = {
  ...HITS,
  endpoint: isOneOf(...ENDPOINTS.filter(endpoint => endpoint !== 'control')),
  path: isText,
};
const JOB_AIM: Record<string, Check> = { ...HITS, title: isText };

interface Fields {
  readonly needs: Readonly<Record<string, Check>>;
  readonly may: Readonly<Record<string, Check>>;
}

/** What each kind has to have, and what it may have. */
const REQUEST_FIELDS: Record<RequestFault['kind'], Fields> = {
  status: { needs: { status: isErrorStatus }, may: { message: isText, retryAfter: isCount } },
  cut: {
    needs: { afterBytes: isCount },
    may: { end: isOneOf('reset', 'close', 'finish'), inCharacter: isOneOf(true, false) },
  },
  stall: { needs: { afterBytes: isCount }, may: { forMs: isDuration } },
  flip: { needs: { atByte: isCount }, may: {} },
  delay: { needs: { ms: isDuration }, may: {} },
  'counts-timeout': { needs: { buckets: isPositive }, may: {} },
};

const JOB_FIELDS: Record<JobFault['kind'], Fields> = {
  'job-failure': { needs: { during: isOneOf('estimating', 'running', 'validation') }, may: {} },
  'suspect-minutes': { needs: { minutes: isMinutes }, may: {} },
  'wrong-totals': {
    needs: {},
    may: {
      urlCount: Number.isSafeInteger,
      totalFileSizeBytes: Number.isSafeInteger,
      activityCount: Number.isSafeInteger,
    },
  },
};

const FIELDS: Record<Fault['kind'], Fields> = { ...REQUEST_FIELDS, ...JOB_FIELDS };

function checkFault(fault: unknown): asserts fault is Fault {
  const given = (typeof fault === 'object' && fault !== null ? fault : {}) as Record<
    string,
    unknown
  >;
  const kind = String(given.kind);
  if (!Object.hasOwn(FIELDS, kind))
    throw new OptionError(
      'fault.kind',
      `Expected a fault with a \`kind\` of ${Object.keys(FIELDS).join(', ')}, got ${JSON.stringify(fault)}`,
    );
  const { needs, may } = FIELDS[kind as Fault['kind']];
  const aim = Object.hasOwn(JOB_FIELDS, kind) ? JOB_AIM : AIM;
  const known = { ...aim, ...may, ...needs };
  for (const name of new Set([...Object.keys(needs), ...Object.keys(given)])) {
    const value = given[name];
    const check = Object.hasOwn(known, name) ? known[name] : undefined;
    if (check === undefined)
      throw new OptionError(`fault.${name}`, `A fault of kind ${kind} has no \`${name}\``);
    if (!(value === undefined && !Object.hasOwn(needs, name)) && !check(value))
      throw new OptionError(
        `fault.${name}`,
        `Not a value for \`${name}\` of a fault of kind ${kind}: ${JSON.stringify(value)}`,
      );
  }
}
