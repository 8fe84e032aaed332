import { MessageChannel, type MessagePort } from 'node:worker_threads';

let nowhere: MessagePort | undefined;

/**
 * Frees the memory of bytes that nobody reads any more; all views of it are empty from then on. V8
 * counts the bytes of buffers, and would hold a full collection for every few blocks to find the unused
 * ones: a fifth of the time that reading an archive takes. Bytes that may share their memory are left
 * to it: Node keeps small buffers together, each less than half of the whole.
 */
export function freeMemory({ buffer, byteLength }: Uint8Array): void {
  const isOwner = 2 * byteLength >= buffer.byteLength && byteLength > 0;
  if (!isOwner || !(buffer instanceof ArrayBuffer)) return;
  if (nowhere === undefined) {
    const { port1, port2 } = new MessageChannel();
    port1.close();
    port2.close();
    nowhere = port1;
  }
  // What goes along with a message to a closed port is gone at once.
  nowhere.postMessage(undefined, [buffer]);
}
