import { WakeUp } from '../../wait.js';
import type { Quota } from './quotas.js';
import type { Endpoint } from './router.js';

/** The data of a request that become known with its response. */
export interface Outcome {
  /** The kinds of planted faults that hit it. */
  readonly fault?: string | undefined;
  /** Absent until there is a response. */
  readonly status?: number | undefined;
  /** The remaining quotas of the rates that count it. */
  readonly quotas?: readonly Quota[] | undefined;
  /** Milliseconds of real time until the response was sent; absent until then. */
  readonly tookMs?: number | undefined;
  /** Whether the connection ended before the response did. */
  readonly isCut?: boolean | undefined;
  /** A JSON body of the request, without forms, which may have passwords. */
  readonly body?: string | undefined;
  /** Bytes sent so far, headers included. */
  readonly bytes?: number | undefined;
  /** Posts sent so far, in families that send posts. */
  readonly posts?: number | undefined;
}

/** A request and its response, for the console and for tests. Contains no credentials. */
export interface LoggedRequest extends Outcome {
  /** Numbered in order of arrival. */
  readonly number: number;
  /** By the service's clock, epoch milliseconds. */
  readonly at: number;
  readonly method: string;
  /** Path and query, without secrets. */
  readonly address: string;
  /** Absent for an address that has no endpoint. */
  readonly endpoint: Endpoint | undefined;
  /** Numbered in order of arrival. Requests of the same number came over the same connection. */
  readonly connection: number;
}

const MAX_REQUESTS = 500;
const MAX_ADDRESS_LENGTH = 300;

/** The last requests of all families except the pages. */
export class RequestLog {
  #requests: LoggedRequest[] = [];
  #lastNumber = 0;
  readonly #waiting = new Set<WakeUp>();

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
    return outcome => {
      Object.assign(logged, outcome);
      for (const wakeUp of this.#waiting) wakeUp.wake();
    };
  }

  clear(): void {
    this.#requests = [];
  }

  /** Resolves with true once the predicate, which reads the requests, is true; with false once the signal fires. */
  async until(isDone: () => boolean, signal: AbortSignal): Promise<boolean> {
    const wakeUp = new WakeUp();
    const wake = () => wakeUp.wake();
    signal.addEventListener('abort', wake);
    this.#waiting.add(wakeUp);
    try {
      while (!isDone()) {
        if (signal.aborted) return false;
        await wakeUp.next();
      }
      return true;
    } finally {
      signal.removeEventListener('abort', wake);
      this.#waiting.delete(wakeUp);
    }
  }
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
