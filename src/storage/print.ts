import type { Writable } from 'node:stream';
import { isNodeError } from '../base/errors.js';
import { storageError } from './storage-error.js';

/**
 * Writes text to a stream such as standard output. Ignores a closed pipe: its reader has all it wants.
 *
 * @param name The stream, for messages.
 * @throws StorageError if the stream fails otherwise, such as a full disk.
 */
export function print(stream: Writable, text: string, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    // The callback reports the error as well. A stream emits `error` after it, so the listener stays then.
    const onError = () => {};
    stream.on('error', onError);
    stream.write(text, error => {
      if (error == null) {
        stream.off('error', onError);
        resolve();
      } else if (isNodeError(error, 'EPIPE')) resolve();
      else reject(storageError('write to', name, error));
    });
  });
}
