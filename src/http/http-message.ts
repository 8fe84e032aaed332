import type { Permit } from './rate-limits.js';

/** An HTTP request. */
export interface HttpRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  readonly url: URL;
  readonly body?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether the address itself grants access, like the signed address of a data file. No credentials are sent
   * then, and the body is not decoded, because a server may declare the compression of a stored file as a
   * content encoding.
   */
  readonly isSignedUrl?: boolean | undefined;
  /** Returns the `Authorization` header of each try, instead of Basic credentials. */
  readonly authorize?: (() => string | undefined) | undefined;
  /** The permit of the account's rate limiter for this request. */
  readonly permit?: Permit | undefined;
  /** Returns advice about an error by its status. By default, errors have general advice. */
  readonly advice?: ((status: number) => string | undefined) | undefined;
  /** Statuses besides success for which the response is returned instead of an error thrown. */
  readonly expectedStatuses?: readonly number[] | undefined;
}

/** Headers by lower-case name. Repeated headers are joined with a comma. */
export type ResponseHeaders = Readonly<Record<string, string | undefined>>;

/** A response. Read its body to the end, or close it. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** The URL without its query, for messages. */
  readonly url: string;
  /** The decoded body, split at any byte. Throws a `ConnectionError` if the body breaks off. */
  readonly body: AsyncIterable<Buffer>;
  /**
   * The body as received, to be used instead of `body`. Each value is everything that has arrived. Throws a
   * `ConnectionError` if the body breaks off.
   */
  readonly rawBlocks: AsyncIterable<readonly Buffer[]>;
  /** The number of received bytes of the body, before decoding. */
  readonly receivedBytes: number;
  /** Closes the connection. Does nothing after the end of the body. */
  close(): void;
}

/** A URL without its query, which may contain a signature. */
export function urlForMessages(url: URL): string {
  return `${url.origin}${url.pathname}${url.search === '' ? '' : '?...'}`;
}
