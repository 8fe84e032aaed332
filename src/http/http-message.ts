import type { Permit } from './rate-limits.js';

export interface HttpRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  readonly url: URL;
  readonly body?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether the URL itself grants access, like the signed URL of a data file. If true, no credentials are
   * sent. The body is then not decoded, because a server may declare the compression of a stored file as its
   * content encoding.
   */
  readonly isSignedUrl?: boolean | undefined;
  /** Returns the `Authorization` header for each try. If absent, the Basic credentials are sent. */
  readonly authorize?: (() => string | undefined) | undefined;
  readonly permit?: Permit | undefined;
  /**
   * Returns advice for the user about an error with this status. If this function is absent or returns
   * `undefined`, the error contains general advice about the status.
   */
  readonly advice?: ((status: number) => string | undefined) | undefined;
  /** Error statuses for which the response is returned. For all other error statuses, an error is thrown. */
  readonly expectedStatuses?: readonly number[] | undefined;
}

/** The headers by their lower-case names. The values of a repeated header are joined with commas. */
export type ResponseHeaders = Readonly<Record<string, string | undefined>>;

/** A response. The caller must read its body to the end, or close it. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** The URL without its query, for messages. */
  readonly url: string;
  /**
   * The decoded body, in blocks that may end at any byte. Throws a `ConnectionError` if the body breaks off.
   */
  readonly body: AsyncIterable<Buffer>;
  /**
   * The body as it was received. The caller reads either this or `body`. Each value holds everything that has
   * arrived since the previous value. Throws a `ConnectionError` if the body breaks off.
   */
  readonly rawBlocks: AsyncIterable<readonly Buffer[]>;
  /** The number of bytes of the body that were received, before decoding. */
  readonly receivedBytes: number;
  /** Closes the connection. Does nothing after the body was read to its end. */
  close(): void;
}

/** Returns a URL without its query, which may contain a signature. */
export function urlForMessages(url: URL): string {
  return `${url.origin}${url.pathname}${url.search === '' ? '' : '?...'}`;
}
