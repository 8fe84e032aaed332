import type { Permit } from './rate-limits.js';

/** One HTTP request. */
export interface HttpRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  readonly url: URL;
  readonly body?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether the address itself grants access, as a signed one of a data file: no credentials are sent, and
   * the body is not decoded, since a server may call the compression of a stored file a content encoding.
   */
  readonly isSignedUrl?: boolean | undefined;
  /** Returns the `Authorization` header of each try, instead of Basic credentials. */
  readonly authorize?: (() => string | undefined) | undefined;
  /** The permit of the account's rate limiter that it uses. */
  readonly permit?: Permit | undefined;
  /** What to do about an error, by the status; by default, what all calls advise. */
  readonly advice?: ((status: number) => string | undefined) | undefined;
  /** Statuses other than successes whose response is returned, not thrown. */
  readonly expectedStatuses?: readonly number[] | undefined;
}

/** Headers by lower-case name. Repeated headers are joined with a comma. */
export type ResponseHeaders = Readonly<Record<string, string | undefined>>;

/** A response. Read its body to the end, or close it. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** The address without its query, for messages. */
  readonly url: string;
  /** The decoded body, split at any byte. Throws `ConnectionError` when it breaks off. */
  readonly body: AsyncIterable<Buffer>;
  /**
   * The body as received, instead of `body`: each value is all that has arrived. Throws a `ConnectionError`
   * if the body breaks off.
   */
  readonly rawBlocks: AsyncIterable<readonly Buffer[]>;
  /** Bytes of the body that have been received, before decoding. */
  readonly receivedBytes: number;
  /** Closes the connection. Does nothing after the end of the body. */
  close(): void;
}

/** An address without its query, which may have a signature. */
export function urlForMessages(url: URL): string {
  return `${url.origin}${url.pathname}${url.search === '' ? '' : '?...'}`;
}
