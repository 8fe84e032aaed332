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
}

/** A request and its response, for the console. Contains no credentials. */
export interface LoggedRequest extends Outcome {
  /** Numbered in order of arrival. */
  readonly number: number;
  /** By the service's clock, epoch milliseconds. */
  readonly at: number;
  readonly method: string;
  /** Path and query, without secrets, truncated when long. */
  readonly address: string;
  /** Absent for an address that has no endpoint. */
  readonly endpoint: Endpoint | undefined;
}

const MAX_REQUESTS = 500;
const MAX_ADDRESS_LENGTH = 300;

/** The last requests of all families except the pages. */
export class RequestLog {
  #requests: LoggedRequest[] = [];
  #lastNumber = 0;

  /** Newest first. */
  get requests(): readonly LoggedRequest[] {
    return this.#requests.toReversed();
  }

  /** Adds a request. The returned function updates it. */
  begin(request: Omit<LoggedRequest, 'number'>): (outcome: Outcome) => void {
    const address = shownAddress(request.address);
    const logged: LoggedRequest = { ...request, number: ++this.#lastNumber, address };
    this.#requests.push(logged);
    if (this.#requests.length > MAX_REQUESTS) this.#requests.shift();
    return outcome => {
      Object.assign(logged, outcome);
    };
  }
}

/** Hides signatures and OAuth tokens in a query, because they give access like passwords. */
export function shownAddress(url: string): string {
  const text = url.replace(
    /([?&])([^=&]*(?:token|signature|verifier|secret|password)[^=&]*)=[^&]+/gi,
    '$1$2=…',
  );
  return text.length > MAX_ADDRESS_LENGTH ? `${text.slice(0, MAX_ADDRESS_LENGTH)}…` : text;
}
