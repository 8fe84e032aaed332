import type { Readable } from 'node:stream';

/** The result of a handler, which `sendResponse` sends. */
export interface HttpResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** In chunks, so that a large page is never concatenated. */
  readonly body: readonly Uint8Array[];
  /** Instead of `body`: a stored file, which is sent unchanged. */
  readonly stored?: { readonly bytes: number; open(): Readable } | undefined;
  /** Instead of `body`: a gzip stream. The connection closes at its end. */
  readonly live?: AsyncIterable<Buffer> | undefined;
}

export function jsonResponse(
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): HttpResponse {
  return { status, headers, body: [Buffer.from(JSON.stringify(value))] };
}

/** Whether an `Accept-Encoding` header allows gzip: named or `*`, and not with a weight of 0. */
export function acceptsGzip(header: string | string[] | undefined): boolean {
  const weights = new Map<string, number>();
  for (const part of String(header ?? '').split(',')) {
    const [coding = '', ...parameters] = part.split(';').map(text => text.trim().toLowerCase());
    const weight = parameters.find(text => text.startsWith('q='))?.slice(2);
    weights.set(coding, weight === undefined ? 1 : Number(weight));
  }
  return (weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0) > 0;
}
