import type { ServerResponse } from 'node:http';
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { BodyFault, CutFault, StallFault } from './fault-kinds.js';

/** A planted fault that hits a body. */
export interface BodyHit {
  readonly fault: BodyFault;
  /** Called when the fault has changed what is sent. */
  tookEffect(): void;
}

/** Sends a body with one planted fault. Resolves when it is sent or the connection has ended. */
export async function sendWithFault(
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
    if (fault.kind === 'flip') {
      const at = offset - sent;
      if (at >= 0 && at < chunk.length) {
        tookEffect();
        await write(response, withFlippedBit(chunk, at));
      } else await write(response, chunk);
    } else {
      const at = isDone ? -1 : positionIn(chunk, offset - sent, fault);
      if (at === -1) await write(response, chunk);
      else {
        isDone = true;
        tookEffect();
        await write(response, chunk.subarray(0, at));
        if (fault.kind === 'cut') return cut(response, fault.end);
        await stall(signal, fault.forMs);
        await write(response, chunk.subarray(at));
      }
    }
    sent += chunk.length;
  }
  // The body is shorter than the fault's offset: the fault happens at its end.
  if (!isDone && fault.kind !== 'flip') {
    // With a length the client has the whole message by now, without one only its end tells.
    if (hidesEnd(fault) && !response.hasHeader('content-length')) tookEffect();
    if (fault.kind === 'cut') return cut(response, fault.end);
    await stall(signal, fault.forMs);
  }
  response.end();
}

/** The position of the fault in a chunk, or -1. */
function positionIn(chunk: Buffer, offset: number, fault: BodyFault): number {
  if (offset >= chunk.length) return -1;
  const from = Math.max(offset, 0);
  if (fault.kind !== 'cut' || !fault.inCharacter) return from;
  // One byte past the first byte of a character that has more.
  const lead = chunk.findIndex((byte, index) => index >= from && byte >= 0xc0);
  return lead === -1 ? -1 : lead + 1;
}

/** Whether the client does not get the end of the HTTP message in time. */
function hidesEnd(fault: CutFault | StallFault): boolean {
  return fault.kind === 'stall' || fault.end !== 'finish';
}

function withFlippedBit(chunk: Buffer, offset: number): Buffer {
  const copy = Buffer.from(chunk);
  copy[offset] = (copy[offset] as number) ^ 1;
  return copy;
}

/** Without a time, for the longest that a timer takes: 24 days. */
async function stall(signal: AbortSignal, forMs = 2 ** 31 - 1): Promise<void> {
  await setTimeout(forMs, undefined, { signal });
}

/** Ends a response before its end. */
export async function cut(response: ServerResponse, end: CutFault['end'] = 'reset'): Promise<void> {
  if (end === 'finish') {
    response.end();
    return;
  }
  const { socket } = response;
  // A reset drops queued bytes: wait until the written ones have left the process.
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
