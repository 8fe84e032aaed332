import { abortable } from '../base/abortable.js';
import { type OptionTable, special } from '../base/check.js';
import { DAY, HOUR, MINUTE, SECOND } from '../base/time.js';
import { WakeUp } from '../base/wait.js';
import { realTime, type Timing } from './timing.js';

/** A rate: in any span of `perMs` milliseconds, at most `requests` requests. */
export interface Rate {
  readonly requests: number;
  readonly perMs: number;
  /**
   * The kind of calls that the rate counts. The only kind is `'change'`, which means add, delete and list in
   * `replayRules`.
   * @default all calls of the family
   */
  readonly kind?: string | undefined;
}

/** The families of calls. All calls of a family share one limit. */
export type Family =
  | 'search'
  | 'jobReads'
  | 'jobCreation'
  | 'replay'
  | 'compliance'
  | 'replayRules'
  | 'usage'
  | 'signIn'
  | 'engagement';

/** The rates for each family of calls. */
export type Limits = Readonly<Record<Family, readonly Rate[]>>;

/** The rates that the service allows, as documented. */
export const LIMITS: Limits = {
  /** Search and counts share this limit. The contract of an account sets another limit, per minute. */
  search: [{ requests: 20, perMs: SECOND }],
  /** Requests for the status, the results and the list of jobs share this limit. */
  jobReads: [{ requests: 5, perMs: 5 * SECOND }],
  /** The service allows 60 jobs in a UTC day. Here, the limit applies to any 24 hours, which is stricter. */
  jobCreation: [
    { requests: 30, perMs: HOUR },
    { requests: 60, perMs: DAY },
  ],
  replay: [{ requests: 5, perMs: 5 * MINUTE }],
  compliance: [{ requests: 10, perMs: MINUTE }],
  /**
   * The first rate counts add, delete and list, which are of the kind `change`. The second rate counts all
   * requests, including get by id.
   */
  replayRules: [
    { requests: 5, perMs: 5 * SECOND, kind: 'change' },
    { requests: 60, perMs: MINUTE },
  ],
  usage: [{ requests: 2, perMs: MINUTE }],
  /** Each step of a sign-in has an unpublished limit, which only `Retry-After` reveals. */
  signIn: [],
  /** The contract of an account sets this limit, through the setting `engagementsPerMinute`. */
  engagement: [],
};

export function ofEachFamily<T>(
  limits: Limits,
  make: (rates: readonly Rate[]) => T,
): Record<Family, T> {
  const families = Object.entries(limits) as [Family, readonly Rate[]][];
  return Object.fromEntries(families.map(([family, rates]) => [family, make(rates)])) as Record<
    Family,
    T
  >;
}

/** Limits without any rate. Used for a local service if `MILLRACE_LIMITS` is `relaxed`. */
export const NO_LIMITS: Limits = ofEachFamily(LIMITS, () => []);

export const RATE_LIMITS: OptionTable<Partial<Limits>> = ofEachFamily(LIMITS, () =>
  special<readonly Rate[]>(
    'rates to keep',
    'a list of rates such as { requests: 10, perMs: 1000 }, of at least 1 request',
    value => Array.isArray(value) && value.every(isRate),
  ),
);

function isRate(value: unknown): boolean {
  const { requests, perMs } = Object(value) as Partial<Rate>;
  return Number.isSafeInteger(requests) && Number(requests) >= 1 && Number(perMs) > 0;
}

/**
 * The longest time that a request takes to reach the service, in milliseconds. The service counts a request
 * when it arrives, which the client does not see. The client therefore counts a request as arrived when its
 * response begins, or this long after the request was sent, whichever comes first.
 */
const MAX_TRANSIT_MS = 250;

/**
 * Permission to send one request. Until `sent` or `responded` is called, the request counts towards
 * every rate, however long ago it started. If neither is ever called, other requests may wait
 * forever.
 */
export interface Permit {
  /**
   * Must be called when the request has been written to an open connection, or when it can no longer be
   * written.
   */
  sent(): void;
  /** Must be called when the response begins. */
  responded(): void;
}

type BeginWait = (waitMs: number) => () => void;

interface Counted {
  readonly kind: string | undefined;
  /**
   * When the request was sent. `Infinity` before that, so that the request counts for as long as its
   * connection takes to open.
   */
  sentAt: number;
  /** When the response began. The service has counted the request by then. */
  responseAt: number | undefined;
}

/**
 * A strict sliding window. `acquire` starts a request, which is then sent and arrives at the service. For
 * each rate, at most `requests` requests start in any span of `perMs` milliseconds. At most `requests` arrive
 * in such a span, too, if each request arrives within `MAX_TRANSIT_MS` after it was sent. Requests start in
 * the order of the calls of `acquire`.
 *
 * Proof for arrivals: a request starts only while fewer than `requests` earlier requests can be in the same
 * window. An earlier request that has not been sent yet may arrive at any time, so it counts in every window.
 * Therefore, of any `requests + 1` requests, the last one started at least `perMs` after one of the others
 * had arrived.
 */
export class RateLimiter {
  readonly #rates: Rate[] = [];
  /** The rate that the service has named most recently in a response. */
  #learned: Rate | undefined;
  readonly #timing: Timing;
  readonly #unsent = new Set<Counted>();
  /** The requests that have been sent and still count, in chronological order. */
  readonly #sent: Counted[] = [];
  /** Wakes the first caller in the queue. All other callers wait for that caller. */
  readonly #wakeUp = new WakeUp();
  #last: Promise<unknown> = Promise.resolve();
  /** When the first caller in the queue stops waiting, as a time of `Timing.elapsed()`. */
  #opensAt = 0;

  constructor(rates: readonly Rate[], timing: Timing = realTime) {
    this.#timing = timing;
    this.add(rates);
  }

  /** Adds rates. All rates, old and new, apply to later requests. */
  add(rates: readonly Rate[]): void {
    for (const rate of rates) {
      const known = this.#rates.some(
        ({ requests, perMs, kind }) =>
          requests === rate.requests && perMs === rate.perMs && kind === rate.kind,
      );
      if (!known) this.#rates.push(rate);
    }
  }

  /**
   * Resolves to a permit when a request may start. Rejects with the reason of the signal if it aborts first.
   *
   * When a wait starts, calls `beginWait`. When the wait ends, calls the function that `beginWait` has
   * returned. This includes a wait behind earlier calls. A wait for the connection of an earlier request to
   * open is not reported, because its length is unknown.
   */
  acquire(
    kind?: string,
    signal?: AbortSignal,
    beginWait: BeginWait = () => () => {},
  ): Promise<Permit> {
    const queuedMs = this.#opensAt - this.#timing.elapsed();
    const endQueued = queuedMs > 0 ? beginWait(queuedMs) : () => {};
    const entered = this.#last.then(() => {
      endQueued();
      return this.#admit(kind, signal, beginWait);
    });
    this.#last = entered.catch(() => {});
    const permit = abortable(entered, signal);
    // If `signal` aborts just as `entered` resolves, `permit` rejects, and no request is sent. Until `sent()`
    // is called, the unused permit would count towards every rate.
    permit.catch(() => entered.then(unused => unused.sent()).catch(() => {}));
    return permit;
  }

  get rates(): readonly Rate[] {
    return this.#learned === undefined ? this.#rates : [...this.#rates, this.#learned];
  }

  /**
   * Applies a rate that the service has named in a response. It replaces the rate that the service named
   * before.
   */
  learn(rate: Rate): void {
    this.#learned = rate;
  }

  async #admit(
    kind: string | undefined,
    signal: AbortSignal | undefined,
    beginWait: BeginWait,
  ): Promise<Permit> {
    signal?.throwIfAborted();
    for (let wait = this.#waitFor(kind); wait > 0; wait = this.#waitFor(kind)) {
      if (wait === Number.POSITIVE_INFINITY) {
        await abortable(this.#wakeUp.next(), signal);
        continue;
      }
      const waitMs = Math.ceil(wait);
      this.#opensAt = this.#timing.elapsed() + waitMs;
      await this.#timing.sleep(waitMs, signal).finally(beginWait(waitMs));
    }
    const start: Counted = { kind, sentAt: Number.POSITIVE_INFINITY, responseAt: undefined };
    this.#unsent.add(start);
    const sent = () => {
      if (!this.#unsent.delete(start)) return;
      start.sentAt = this.#timing.elapsed();
      this.#sent.push(start);
      this.#wakeUp.wake();
    };
    const responded = () => {
      sent();
      start.responseAt ??= this.#timing.elapsed();
    };
    return { sent, responded };
  }

  /**
   * Returns the number of milliseconds until the next check is useful. Returns 0 if a request may start now.
   * Returns `Infinity` if it must wait for earlier requests and none of them has been sent yet.
   */
  #waitFor(kind: string | undefined): number {
    const now = this.#timing.elapsed();
    this.#forget(now);
    const waits = this.rates
      .filter(rate => rate.kind === undefined || rate.kind === kind)
      .map(rate => {
        const old = this.#sent.findLastIndex(
          start => now >= start.sentAt + MAX_TRANSIT_MS + rate.perMs,
        );
        const counted = [...this.#unsent, ...this.#sent.slice(old + 1)].filter(
          start => (rate.kind ?? start.kind) === start.kind && now < arrivedBy(start) + rate.perMs,
        );
        if (counted.length < rate.requests) return 0;
        return Math.min(...counted.map(start => nextCheckAt(start, rate, now))) - now;
      });
    return Math.max(0, ...waits);
  }

  #forget(now: number): void {
    // Requests are remembered for at least a minute, because another `Account` object or the service may
    // later add a rate per minute.
    const longest = Math.max(MINUTE, ...this.rates.map(rate => rate.perMs));
    const old = this.#sent.findIndex(start => now < start.sentAt + MAX_TRANSIT_MS + longest);
    this.#sent.splice(0, old === -1 ? this.#sent.length : old);
  }
}

/** Returns the latest time at which the request can have arrived at the service. */
function arrivedBy({ sentAt, responseAt = Number.POSITIVE_INFINITY }: Counted): number {
  return Math.min(responseAt, sentAt + MAX_TRANSIT_MS);
}

/**
 * Returns when to check again whether an earlier request still counts towards the rate. Until a response
 * arrives, this assumes that the request arrived when it was sent, because the response may still prove this.
 */
function nextCheckAt(start: Counted, rate: Rate, now: number): number {
  const isEarly = start.responseAt === undefined && now < start.sentAt + rate.perMs;
  return (isEarly ? start.sentAt : arrivedBy(start)) + rate.perMs;
}
