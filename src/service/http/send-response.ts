import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import { MAX_TIMER_MS } from '../../base/wait.js';
import type { BodyFault, CutFault, StallFault } from './fault-types.js';
import { drainBody, isUnread } from './read-request.js';
import type { HandlerResponse } from './router.js';

/** Sends a response, compressed if the client accepts gzip. Resolves when the response was written. */
export async function sendResponse(
  response: ServerResponse,
  answer: HandlerResponse,
  hit: BodyHit | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { stored, live } = answer;
  if (live !== undefined) return sendLive(response, live, hit, signal);
  const fault = hit?.fault;
  const isEarly = isUnread(response.req);
  const gzip =
    stored === undefined &&
    // A response is early if the request body was not read yet. The client must see the end of such a
    // response before the service reads that body. Gzip would send the end only later, so the response is not
    // compressed.
    !isEarly &&
    acceptsGzip(response.req.headers['accept-encoding']) &&
    // A cut inside a character needs an uncompressed body.
    !(fault?.kind === 'cut' && fault.inCharacter);
  response.statusCode = answer.status;
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  if (stored === undefined) response.setHeader('Vary', 'Accept-Encoding');
  if (gzip) response.setHeader('Content-Encoding', 'gzip');
  else if (stored !== undefined && !(fault?.kind === 'cut' && fault.end === 'finish'))
    response.setHeader('Content-Length', stored.bytes);
  else if (fault === undefined) response.setHeader('Content-Length', byteLength(answer.body));
  for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value);
  if (response.req.method === 'HEAD') {
    response.end();
    return;
  }
  const blocks = stored?.open() ?? Readable.from(blocksOf(answer.body), { objectMode: false });
  // Level 4 takes half the time of the default level, for 5 % more bytes.
  const wire = gzip ? blocks.pipe(createGzip({ level: 4 })) : blocks;
  if (hit !== undefined) await sendWithFault(wire, response, hit, signal);
  else if (!isEarly) await pipeline(wire, response, { signal });
  else {
    await pipeline(wire, response, { signal, end: false });
    if (await drainBody(response.req)) response.end();
    else response.destroy();
  }
}

/** Returns whether an `Accept-Encoding` header allows gzip: by name or `*`, without a weight of 0. */
export function acceptsGzip(header: string | string[] | undefined): boolean {
  const weights = new Map<string, number>();
  for (const part of String(header ?? '').split(',')) {
    const [coding = '', ...parameters] = part.split(';').map(text => text.trim().toLowerCase());
    const weight = parameters.find(text => text.startsWith('q='))?.slice(2);
    weights.set(coding, weight === undefined ? 1 : Number(weight));
  }
  return (weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0) > 0;
}

function byteLength(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
}

const BLOCK_BYTES = 64 * 1024;

/** Joins small chunks, because each write costs a system call or a call of the compressor. */
export function* blocksOf(pieces: Iterable<Uint8Array>): Generator<Buffer> {
  let block: Uint8Array[] = [];
  let bytes = 0;
  for (const piece of pieces) {
    block.push(piece);
    bytes += piece.byteLength;
    if (bytes >= BLOCK_BYTES) {
      yield Buffer.concat(block, bytes);
      block = [];
      bytes = 0;
    }
  }
  if (bytes > 0) yield Buffer.concat(block, bytes);
}

/** Thrown by a live stream to close or reset the connection before the HTTP message is complete. */
export class StreamCutError extends Error {
  readonly how: 'reset' | 'close';

  constructor(how: 'reset' | 'close') {
    super('The stream is cut off');
    this.name = 'StreamCutError';
    this.how = how;
  }
}

/** Sends a gzip stream, and closes the connection at its end. Reads the stream only as fast as the consumer reads. */
async function sendLive(
  response: ServerResponse,
  live: AsyncIterable<Buffer>,
  hit: BodyHit | undefined,
  signal: AbortSignal,
): Promise<void> {
  response.shouldKeepAlive = false;
  response.writeHead(200, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Encoding': 'gzip',
    Vary: 'Accept-Encoding',
  });
  if (response.req.method === 'HEAD') {
    response.end();
    return;
  }
  response.flushHeaders();
  try {
    if (hit !== undefined) return await sendWithFault(live, response, hit, signal);
    for await (const chunk of live)
      if (!response.write(chunk)) await once(response, 'drain', { signal });
    response.end();
  } catch (error) {
    if (!(error instanceof StreamCutError)) throw error;
    await cut(response, error.how);
  }
}

export interface BodyHit {
  readonly fault: BodyFault;
  /** Called when the fault has changed the sent bytes. */
  tookEffect(): void;
}

async function sendWithFault(
  wire: AsyncIterable<Buffer>,
  response: ServerResponse,
  { fault, tookEffect }: BodyHit,
  signal: AbortSignal,
): Promise<void> {
  response.flushHeaders();
  const offset = fault.kind === 'flip' ? fault.atByte : fault.afterBytes;
  let sent = 0;
  let isDone = false;
  for await (const chunk of wire) {
    signal.throwIfAborted();
    const at = isDone ? -1 : positionIn(chunk, offset - sent, fault);
    sent += chunk.length;
    if (at === -1) {
      await write(response, chunk);
      continue;
    }
    isDone = true;
    tookEffect();
    if (fault.kind === 'flip') {
      await write(response, withFlippedBit(chunk, at));
      continue;
    }
    await write(response, chunk.subarray(0, at));
    if (fault.kind === 'cut') return cut(response, fault.end);
    await stall(signal, fault.forMs);
    await write(response, chunk.subarray(at));
  }
  // If the body is shorter than the fault's offset, a cut or stall happens at the end of the body.
  if (!isDone && fault.kind !== 'flip') {
    // A cut or stall after the whole message takes effect only without `Content-Length`: the client does not
    // see that the message is complete. With that header, it knows that it has the whole message.
    if (hidesEnd(fault) && !response.hasHeader('content-length')) tookEffect();
    if (fault.kind === 'cut') return cut(response, fault.end);
    await stall(signal, fault.forMs);
  }
  response.end();
}

/** Returns the position of the fault in a chunk; -1 if the fault is not in this chunk. */
function positionIn(chunk: Buffer, offset: number, fault: BodyFault): number {
  if (offset >= chunk.length) return -1;
  const from = Math.max(offset, 0);
  if (fault.kind !== 'cut' || !fault.inCharacter) return from;
  return withinCharacter(chunk, from);
}

/**
 * Finds the first multi-byte character that starts at `from` or later. Returns the position after its first
 * byte; -1 if there is no such character.
 */
export function withinCharacter(bytes: Uint8Array, from = 0): number {
  const lead = bytes.findIndex((byte, index) => index >= from && byte >= 0xc0);
  return lead === -1 ? -1 : lead + 1;
}

/** Returns whether the fault delays the end of the HTTP message or prevents it from being sent. */
function hidesEnd(fault: CutFault | StallFault): boolean {
  return fault.kind === 'stall' || fault.end !== 'finish';
}

function withFlippedBit(chunk: Buffer, offset: number): Buffer {
  const copy = Buffer.from(chunk);
  copy[offset] = (copy[offset] as number) ^ 1;
  return copy;
}

/** Waits for `forMs`, or until the signal fires. By default, waits as long as a timer can, which is 24 days. */
async function stall(signal: AbortSignal, forMs = MAX_TIMER_MS): Promise<void> {
  await setTimeout(forMs, undefined, { signal });
}

export async function cut(response: ServerResponse, end: CutFault['end'] = 'reset'): Promise<void> {
  if (end === 'finish') {
    response.end();
    return;
  }
  const { socket } = response;
  // A reset drops bytes that are still queued, so this waits until the written bytes have left the process.
  while (socket !== null && socket.writableLength > 0 && !socket.destroyed) await setImmediate();
  await setTimeout(5);
  if (end === 'reset') socket?.resetAndDestroy();
  else socket?.end();
}

function write(response: ServerResponse, chunk: Uint8Array): Promise<void> {
  if (chunk.byteLength === 0) return Promise.resolve();
  return new Promise((resolve, reject) => {
    response.write(chunk, error => (error ? reject(error) : resolve()));
  });
}
