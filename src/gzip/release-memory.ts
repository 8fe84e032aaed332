import { MessageChannel, type MessagePort } from 'node:worker_threads';

/**
 * glibc returns memory to the system when it frees a chunk that it took with mmap, one of M_MMAP_THRESHOLD or more,
 * and when more than M_TRIM_THRESHOLD is free at the top of the heap; to take it again costs a page fault for each
 * page. Both thresholds are dynamic, see mallopt(3): freeing an mmapped chunk raises M_MMAP_THRESHOLD to its size, up
 * to DEFAULT_MMAP_THRESHOLD_MAX, which is 32 MiB, and M_TRIM_THRESHOLD to twice that. A chunk of this size, with its
 * header and rounded to pages, raises both nearly to their maxima; a chunk beyond 32 MiB raises neither.
 */
const THRESHOLD_RAISING_BYTES = 32 * 1024 * 1024 - 64 * 1024;

let closed: MessagePort | undefined;

/**
 * Frees the memory of bytes immediately; all views of it are empty from then on. Left to the garbage
 * collector, large buffers cost a full collection every few blocks. Does nothing for bytes that may
 * share their memory with others: Node pools small buffers, each less than half of its pool.
 */
export function releaseMemory({ buffer, byteLength }: Uint8Array | Uint32Array): void {
  const ownsBuffer = 2 * byteLength >= buffer.byteLength && byteLength > 0;
  if (!ownsBuffer || !(buffer instanceof ArrayBuffer)) return;
  if (closed === undefined) {
    closed = closedPort();
    // Never written to, so it costs no memory.
    closed.postMessage(undefined, [Buffer.allocUnsafeSlow(THRESHOLD_RAISING_BYTES).buffer]);
  }
  closed.postMessage(undefined, [buffer]);
}

/** A transfer to a closed port detaches a buffer and frees it. */
function closedPort(): MessagePort {
  const { port1, port2 } = new MessageChannel();
  port1.close();
  port2.close();
  return port1;
}
