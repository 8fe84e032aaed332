import { onceAborted } from '../../base/abortable.js';
import { floorTo, HOUR, MINUTE } from '../../base/time.js';
import { WakeUp } from '../../base/wait.js';
import { getOrMake } from '../cache.js';
import type { Quota } from './quotas.js';
import type { Endpoint } from './router.js';

/** A request that a service has had, and its response. Absent members are not known yet, or there is nothing to say. */
export interface JournalEntry {
  /** Numbered in order of arrival. */
  readonly number: number;
  /** By the service's clock. */
  readonly at: Date;
  /** The family of the address; absent if it has none. */
  readonly endpoint?: Endpoint | undefined;
  readonly method: string;
  readonly path: string;
  /** Decoded. Signatures and tokens are `…`. */
  readonly query: Readonly<Record<string, string>>;
  /** A JSON body, as text: ids in it may not fit numbers. */
  readonly body?: string | undefined;
  /** Requests of the same number came over the same connection. */
  readonly connection: number;
  /** Absent until there is a response. */
  readonly status?: number | undefined;
  /** Posts that were sent, by families that send posts. */
  readonly posts?: number | undefined;
  /** Bytes that were sent, headers included. */
  readonly bytes?: number | undefined;
  /** Milliseconds of real time until the response was sent; absent until then. */
  readonly durationMs?: number | undefined;
  /** The kinds of planted faults that hit it. */
  readonly fault?: string | undefined;
  /** Whether the connection ended before the response did. */
  readonly cut?: boolean | undefined;
}

/** What becomes known of a request with its response. */
export interface Outcome
  extends Pick<
    JournalEntry,
    'fault' | 'status' | 'durationMs' | 'cut' | 'body' | 'bytes' | 'posts'
  > {
  /** The remaining quotas of the rates that count it. */
  readonly quotas?: readonly Quota[] | undefined;
  /** The body of an error, up to its first 4 KB. */
  readonly error?: string | undefined;
}

/** A request and its response, for the console and for tests. Contains no credentials. */
export interface LoggedRequest
  extends Outcome,
    Pick<JournalEntry, 'number' | 'endpoint' | 'method' | 'connection'> {
  /** By the service's clock, epoch milliseconds. */
  readonly at: number;
  /** Path and query, without secrets. */
  readonly address: string;
}

const MAX_REQUESTS = 500;
const MAX_ADDRESS_LENGTH = 300;

/** The last requests of all families except the pages. */
export class RequestLog {
  /** Of all requests but those of pages and of the control path. */
  readonly totals: MinuteTotals;
  #requests: LoggedRequest[] = [];
  #lastNumber = 0;
  readonly #waiting = new Set<WakeUp>();

  constructor(now: () => number) {
    this.totals = new MinuteTotals(now);
  }

  /** Newest first. */
  get requests(): readonly LoggedRequest[] {
    return this.#requests.toReversed();
  }

  /** Adds a request. The returned function updates it. */
  begin(request: Omit<LoggedRequest, 'number'>): (outcome: Outcome) => void {
    const address = withoutSecrets(request.address);
    const logged: LoggedRequest = { ...request, number: ++this.#lastNumber, address };
    this.#requests.push(logged);
    if (this.#requests.length > MAX_REQUESTS) this.#requests.shift();
    if (isCounted(logged)) this.totals.add('requests');
    return outcome => {
      if (isCounted(logged)) this.#count(logged, outcome);
      Object.assign(logged, outcome);
      for (const wakeUp of this.#waiting) wakeUp.wake();
    };
  }

  clear(): void {
    this.#requests = [];
    this.totals.clear();
  }

  /** Resolves with true once the predicate, which reads the requests, is true; with false once the signal fires. */
  async until(isDone: () => boolean, signal: AbortSignal): Promise<boolean> {
    const wakeUp = new WakeUp();
    const stopListening = onceAborted(signal, () => wakeUp.wake());
    this.#waiting.add(wakeUp);
    try {
      while (!isDone()) {
        if (signal.aborted) return false;
        await wakeUp.next();
      }
      return true;
    } finally {
      stopListening();
      this.#waiting.delete(wakeUp);
    }
  }

  #count({ endpoint, method, posts = 0 }: LoggedRequest, outcome: Outcome): void {
    if (outcome.posts !== undefined) this.totals.add('posts', outcome.posts - posts);
    if (endpoint === 'jobs' && method === 'POST' && outcome.status === 201) this.totals.add('jobs');
    if (isStream(endpoint) && outcome.status === 200) this.totals.add('connections');
  }
}

/** Whether responses of a family are streams. */
export function isStream(endpoint: Endpoint | undefined): boolean {
  return endpoint === 'replay' || endpoint === 'compliance';
}

function isCounted({ endpoint }: LoggedRequest): boolean {
  return endpoint !== 'pages' && endpoint !== 'control';
}

/** An address as the console shows it: without secrets, and truncated when long. */
export function shownAddress(url: string): string {
  const text = withoutSecrets(url);
  return text.length > MAX_ADDRESS_LENGTH ? `${text.slice(0, MAX_ADDRESS_LENGTH)}…` : text;
}

/** Hides signatures and OAuth tokens in a query, because they give access like passwords. */
function withoutSecrets(url: string): string {
  return url.replace(
    /([?&])([^=&]*(?:token|signature|verifier|secret|password)[^=&]*)=[^&]+/gi,
    '$1$2=…',
  );
}

/** What the overview of the console counts. */
export interface Totals {
  requests: number;
  posts: number;
  /** Jobs that were created. */
  jobs: number;
  /** Connections to streams. */
  connections: number;
}

/** Totals for each minute of the last hour, by the service's clock. */
export class MinuteTotals {
  readonly #now: () => number;
  readonly #minutes = new Map<number, Totals>();

  constructor(now: () => number) {
    this.#now = now;
  }

  add(what: keyof Totals, count = 1): void {
    const minute = floorTo(MINUTE, this.#now());
    const none = (): Totals => ({ requests: 0, posts: 0, jobs: 0, connections: 0 });
    // After a move of the clock, some minutes are older than the last hour.
    if (!this.#minutes.has(minute))
      for (const other of this.#minutes.keys())
        if (other > minute || other <= minute - HOUR) this.#minutes.delete(other);
    getOrMake(this.#minutes, minute, none)[what] += count;
  }

  /** The sums of equal parts of the last hour, oldest first. The last part ends with the current minute. */
  lastHour(what: keyof Totals, parts: number): readonly number[] {
    const end = floorTo(MINUTE, this.#now()) + MINUTE;
    const sums = new Array<number>(parts).fill(0);
    for (const [minute, totals] of this.#minutes) {
      const part = Math.floor(((minute - (end - HOUR)) / HOUR) * parts);
      if (part >= 0 && part < parts) sums[part] = (sums[part] as number) + totals[what];
    }
    return sums;
  }

  clear(): void {
    this.#minutes.clear();
  }
}
