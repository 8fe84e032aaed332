import type { IncomingMessage } from 'node:http';
import { HttpProblem } from './http-problem.js';

/**
 * Reads the whole body of a request. @throws HttpProblem 413 beyond the limit, with the rest unread.
 */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const body = await readAll(request, maxBytes);
  bodies.set(request, body);
  return body;
}

const bodies = new WeakMap<IncomingMessage, Buffer>();

/** The body of a request, if it was read. */
export function bodyOf(request: IncomingMessage): Buffer | undefined {
  return bodies.get(request);
}

function readAll(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const coding = request.headers['content-encoding'];
    if (coding !== undefined && coding !== 'identity')
      return reject(
        new HttpProblem(415, `Unsupported Media Type: a body in ${coding} cannot be read`),
      );
    const chunks: Buffer[] = [];
    let bytes = 0;
    const tooLarge = () => {
      request.off('data', take).pause();
      reject(new HttpProblem(413, `Payload Too Large: the body may have ${maxBytes} bytes`));
    };
    const take = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) tooLarge();
      else chunks.push(chunk);
    };
    if (Number(request.headers['content-length']) > maxBytes) return tooLarge();
    request.on('data', take);
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', reject);
    request.on('close', () => reject(new Error('The request ended before its body did')));
  });
}

/** Whether more of a request's body is to come. */
export function isUnread({ complete, headers }: IncomingMessage): boolean {
  const hasBody =
    headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  return hasBody && !complete;
}

/** The maximum number of bytes that are read and dropped, so that the sender reads the response. */
const MAX_DRAINED_BYTES = 64 * 1024 * 1024;

/**
 * Reads and drops the rest of a body whose response is already sent. Closing the connection earlier
 * would reset it, and many clients do not read before they have sent everything.
 *
 * @returns Whether the body has ended; false if it is too long or the client has disconnected.
 */
export function drainBody(request: IncomingMessage): Promise<boolean> {
  return new Promise(resolve => {
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_DRAINED_BYTES) resolve(false);
    });
    request.on('end', () => resolve(true));
    request.on('close', () => resolve(false));
    request.resume();
  });
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Parses a JSON object; `undefined` for anything else. */
export function parseJsonObject(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
