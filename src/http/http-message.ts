import type { IncomingHttpHeaders } from 'node:http';
import type { Secret } from './secret.js';

/** One HTTP request. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: URL;
  readonly body?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * For a file at an address that is its own permission: no credentials, whatever the origin, and
   * the body as received, since what is stored there may be called an encoding.
   */
  readonly isSignedUrl?: boolean | undefined;
  /** Makes the `Authorization` of a try, anew for each, in place of Basic credentials. */
  readonly authorize?: (() => string) | undefined;
  /** What no error may show, besides the account's own secrets. */
  readonly secrets?: readonly Secret[] | undefined;
  /** Statuses, besides successes, whose response is returned and not thrown. */
  readonly expectedStatuses?: readonly number[] | undefined;
}

/** A successful response. Its body must be read to its end, or the response closed. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The address without its query, for messages. */
  readonly url: string;
  /** Decoded. Cut at any byte. Throws `ConnectionError` when it breaks off. */
  readonly body: AsyncIterable<Buffer>;
  /**
   * The body as received, all that has come at a time, instead of `body`. Throws
   * `ConnectionError` when it breaks off.
   */
  readonly rawBlocks: AsyncIterable<readonly Buffer[]>;
  /** Bytes of the body that have come, as received. */
  readonly receivedBytes: number;
  /** Lets go of the connection. Nothing happens after the end of the body. */
  close(): void;
}
