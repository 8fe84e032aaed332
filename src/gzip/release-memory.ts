import { MessageChannel, type MessagePort } from 'node:worker_threads';

/**
 * After one chunk of this size has been freed, glibc keeps most freed memory instead of returning it to the
 * system. Taking memory from the system again would cost a page fault for each page.
 *
 * Freeing a chunk that glibc took with mmap raises two thresholds, see mallopt(3): M_MMAP_THRESHOLD to the
 * size of the chunk, and M_TRIM_THRESHOLD to twice that size. A chunk of more than 32 MiB raises neither.
 * This size is 64 KiB less, because the chunk also has a header and is rounded up to pages.
 */
const THRESHOLD_RAISING_BYTES = 32 * 1024 * 1024 - 64 * 1024;

let closed: MessagePort | undefined;

/**
 * Frees the memory of bytes immediately. All views of this memory become empty. If large buffers were left to
 * the garbage collector, it would run a full collection every few blocks. Does nothing if the bytes are less
 * than half of their buffer, because other data may be in the same buffer, for example in the pool that Node
 * uses for small buffers.
 */
export function releaseMemory({ buffer, byteLength }: Uint8Array | Uint32Array): void {
  const ownsBuffer = 2 * byteLength >= buffer.byteLength && byteLength > 0;
  if (!ownsBuffer || !(buffer instanceof ArrayBuffer)) return;
  if (closed === undefined) {
    closed = closedPort();
    // Frees a buffer of this size once, to raise the thresholds. Nothing writes to it, so the system never
    // allocates pages for it.
    closed.postMessage(undefined, [Buffer.allocUnsafeSlow(THRESHOLD_RAISING_BYTES).buffer]);
  }
  closed.postMessage(undefined, [buffer]);
}

/**
 * Returns a port whose other end is closed. Transferring a buffer to the port detaches the buffer and frees
 * its memory.
 */
function closedPort(): MessagePort {
  const { port1, port2 } = new MessageChannel();
  port1.close();
  port2.close();
  return port1;
}
