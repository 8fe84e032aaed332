import { OptionError } from '../errors.js';
import { ENDPOINTS, type Endpoint } from './router.js';

interface Aim {
  /** Only requests of this family; any but the control path when absent. */
  readonly endpoint?: Endpoint | undefined;
  /** Only requests whose path and query contain this text. */
  readonly path?: string | undefined;
  /** How many requests it hits; 1 when absent. `'always'`: until it is cleared. */
  readonly times?: number | 'always' | undefined;
  /** How many requests it lets pass before. */
  readonly skip?: number | undefined;
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

export type BodyFault = CutFault | StallFault | FlipFault;
export type Fault = StatusFault | BodyFault | DelayFault | CountsTimeoutFault;

export type PlantedFault = Fault & { readonly id: number; readonly hits: number };

/** What one request meets: at most one delay and one other fault. */
export interface MetFaults {
  readonly delay: DelayFault | undefined;
  readonly other: Exclude<Fault, DelayFault> | undefined;
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
    const take = (isWanted: (fault: Fault) => boolean): Fault | undefined => {
      for (const planted of this.#planted) {
        if (!isWanted(planted.fault) || !isAimedAt(planted.fault, endpoint, pathAndQuery)) continue;
        if (planted.skip > 0) {
          planted.skip--;
          continue;
        }
        planted.hits++;
        if (--planted.left <= 0) this.clear(planted.id);
        return planted.fault;
      }
      return undefined;
    };
    return {
      delay: take(fault => fault.kind === 'delay') as DelayFault | undefined,
      other: take(fault => fault.kind !== 'delay') as MetFaults['other'],
    };
  }
}

function describe({ id, fault, hits }: Planted): PlantedFault {
  return { id, hits, ...fault };
}

function isAimedAt(fault: Fault, endpoint: Endpoint, pathAndQuery: string): boolean {
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

const AIM: Record<string, Check> = {
  kind: isText,
  endpoint: isOneOf(...ENDPOINTS.filter(endpoint => endpoint !== 'control')),
  path: isText,
  times: value => value === 'always' || isPositive(value),
  skip: isCount,
};

/** What each kind has to have, and what it may have. */
const FIELDS: Record<Fault['kind'], { needs: Record<string, Check>; may: Record<string, Check> }> =
  {
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
  const known = { ...AIM, ...may, ...needs };
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
