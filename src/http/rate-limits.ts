import { abortable } from '../base/abortable.js';
import { type OptionTable, special } from '../base/check.js';
import { DAY, HOUR, MINUTE, SECOND } from '../base/time.js';
import { WakeUp } from '../base/wait.js';
import { realTime, type Timing } from './timing.js';

/** At most `requests` requests in any span of `perMs` milliseconds. */
export interface Rate {
  readonly requests: number;
  readonly perMs: number;
  /**
   * Counts only calls of this kind: `'change'` is add, delete and list of `replayRules`.
   * @default all calls of the family
   */
  readonly kind?: string | undefined;
}

/** The families of calls that share a limit. */
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

/** The rates of each family of calls. */
export type Limits = Readonly<Record<Family, readonly Rate[]>>;

/** The rates that the service allows. */
export const LIMITS: Limits = {
  /** Search and counts together; the account adds what its contract allows a minute. */
  search: [{ requests: 20, perMs: SECOND }],
  /** Status, results and list together. */
  jobReads: [{ requests: 5, perMs: 5 * SECOND }],
  /** The service counts 60 in a UTC day; any 24 hours is stricter. */
  jobCreation: [
    { requests: 30, perMs: HOUR },
    { requests: 60, perMs: DAY },
  ],
  replay: [{ requests: 5, perMs: 5 * MINUTE }],
  compliance: [{ requests: 10, perMs: MINUTE }],
  /** `change` is add, delete and list; get by id counts every rules request. */
  replayRules: [
    { requests: 5, perMs: 5 * SECOND, kind: 'change' },
    { requests: 60, perMs: MINUTE },
  ],
  usage: [{ requests: 2, perMs: MINUTE }],
  /** Each step has an unpublished limit: only `Retry-After` reveals it. */
  signIn: [],
  /** The account adds what its contract allows a minute. */
  engagement: [],
};

/** Makes something of the rates of each family. */
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

/** No rate at all, as a local service with relaxed limits allows. */
export const NO_LIMITS: Limits = ofEachFamily(LIMITS, () => []);

/** Rates by family of calls. They replace the rates of the service. */
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
 * How long after it was sent a request may reach the service. The service counts arrivals, which the client
 * does not see: a request counts as arrived when its response begins, or this much after it was sent,
 * whichever is first.
 */
const MAX_TRANSIT_MS = 250;

/**
 * Permission to send one request. Until one of its methods is called, the request counts in every window, and
 * others may wait for it without end.
 */
export interface Permit {
  /** Call it when the request has been written to an open connection, or can no longer be written. */
  sent(): void;
  /** Call it when the response begins. */
  responded(): void;
}

type BeginWait = (waitMs: number) => () => void;

interface Counted {
  readonly kind: string | undefined;
  /** Infinity until it is sent: its connection may take any time to open. */
  sentAt: number;
  /** When its response began: the latest moment at which the service may have counted it. */
  responseAt: number | undefined;
}

/**
 * A strict sliding window: in any span of a rate's length, there are never more starts than the rate allows,
 * nor arrivals at the service, as long as requests arrive within `MAX_TRANSIT_MS` after they were sent. First
 * come, first served.
 *
 * Why it holds: a request starts only while fewer than `requests` earlier ones can be in one window with it.
 * An earlier one that is not sent yet can still arrive at any time, so it can be in every window. So of any
 * `requests + 1` arrivals, the last one started when another had arrived at least `perMs` before.
 */
export class RateLimiter {
  readonly #rates: Rate[] = [];
  /** The rate that a response of the service named. */
  #learned: Rate | undefined;
  readonly #timing: Timing;
  readonly #unsent = new Set<Counted>();
  /** In order of time. */
  readonly #sent: Counted[] = [];
  /** Wakes the first in the queue, which alone waits for a request to be sent. */
  readonly #wakeUp = new WakeUp();
  #last: Promise<unknown> = Promise.resolve();
  /** When the wait of the first in the queue ends. */
  #opensAt = 0;

  constructor(rates: readonly Rate[], timing: Timing = realTime) {
    this.#timing = timing;
    this.add(rates);
  }

  /** Keeps to these rates too. */
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
   * Waits until a request may start. An abort rejects with the signal's reason. `beginWait` is called at the start
   * of each wait, also while calls before it wait; its result is called at the end. A wait for the connection of
   * an earlier request to open is not reported: when it ends is not known, and opening has a timeout.
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
    // An abort at the moment of the permit: its request will not be sent.
    permit.catch(() => entered.then(unused => unused.sent()).catch(() => {}));
    return permit;
  }

  /** All rates that it keeps to. */
  get rates(): readonly Rate[] {
    return this.#learned === undefined ? this.#rates : [...this.#rates, this.#learned];
  }

  /** Keeps to a rate that the service named. It replaces the rate that the service named before. */
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
   * Milliseconds until the next check makes sense; 0 when a request may start now, Infinity when it has to
   * wait for requests of which none is sent.
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
    // Another account object or the service may add a rate per minute later.
    const longest = Math.max(MINUTE, ...this.rates.map(rate => rate.perMs));
    const old = this.#sent.findIndex(start => now < start.sentAt + MAX_TRANSIT_MS + longest);
    this.#sent.splice(0, old === -1 ? this.#sent.length : old);
  }
}

/** The latest moment at which it may arrive at the service. */
function arrivedBy({ sentAt, responseAt = Number.POSITIVE_INFINITY }: Counted): number {
  return Math.min(responseAt, sentAt + MAX_TRANSIT_MS);
}

/** A request without a response may have arrived immediately, so the first check is early. */
function nextCheckAt(start: Counted, rate: Rate, now: number): number {
  const isEarly = start.responseAt === undefined && now < start.sentAt + rate.perMs;
  return (isEarly ? start.sentAt : arrivedBy(start)) + rate.perMs;
}
