import type { IncomingMessage } from 'node:http';
import { Refusal } from './refusal.js';

/** The whole body of a request. Past the limit the answer is 413, without waiting for the rest. */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const coding = request.headers['content-encoding'];
    if (coding !== undefined && coding !== 'identity')
      return reject(new Refusal(415, `Unsupported Media Type: a body in ${coding} cannot be read`));
    const chunks: Buffer[] = [];
    let bytes = 0;
    const tooLarge = () =>
      // The rest would have to be read before the connection could carry another request.
      reject(
        new Refusal(413, `Payload Too Large: the body may have ${maxBytes} bytes`, {
          Connection: 'close',
        }),
      );
    if (Number(request.headers['content-length']) > maxBytes) return tooLarge();
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        request.pause();
        tooLarge();
      } else chunks.push(chunk);
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', reject);
    request.on('close', () => reject(new Error('The request ended before its body did')));
  });
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The JSON object that bytes hold, or `undefined`. */
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
