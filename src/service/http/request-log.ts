import type { Endpoint } from './endpoints.js';
import type { Quota } from './quotas.js';

/** What comes to be known of a request. */
export interface Outcome {
  /** Kinds of the planted faults that it met. */
  readonly fault?: string | undefined;
  /** Absent while there is no answer. */
  readonly status?: number | undefined;
  /** What was left after it of the rates that count it. */
  readonly quotas?: readonly Quota[] | undefined;
  /** Milliseconds of real time until all was sent; absent while it is not. */
  readonly tookMs?: number | undefined;
  /** Whether the connection ended before the answer did. */
  readonly isCut?: boolean | undefined;
}

/** One request and its answer, as the console shows them. No credentials. */
export interface LoggedRequest extends Outcome {
  /** In the order in which requests came. */
  readonly number: number;
  /** By the service's clock, epoch milliseconds. */
  readonly at: number;
  readonly method: string;
  /** Path and query, without what is secret, cut where it is long. */
  readonly address: string;
  /** Absent where there is nothing at the address. */
  readonly endpoint: Endpoint | undefined;
}

const MOST = 500;
const LONGEST_ADDRESS = 300;

/** The last requests of all families but the pages. */
export class RequestLog {
  #requests: LoggedRequest[] = [];
  #lastNumber = 0;

  /** Newest first. */
  get requests(): readonly LoggedRequest[] {
    return this.#requests.toReversed();
  }

  /** Notes a request; what it returns notes what is known of its answer. */
  begin(request: Omit<LoggedRequest, 'number'>): (known: Outcome) => void {
    const address = shownAddress(request.address);
    const logged: LoggedRequest = { ...request, number: ++this.#lastNumber, address };
    this.#requests.push(logged);
    if (this.#requests.length > MOST) this.#requests.shift();
    return known => {
      Object.assign(logged, known);
    };
  }
}

/** A signature in a query is as good as a password, and so are the tokens of OAuth. */
export function shownAddress(url: string): string {
  const text = url.replace(
    /([?&])([^=&]*(?:token|signature|verifier|secret|password)[^=&]*)=[^&]+/gi,
    '$1$2=…',
  );
  return text.length > LONGEST_ADDRESS ? `${text.slice(0, LONGEST_ADDRESS)}…` : text;
}
