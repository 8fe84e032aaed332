import type { Writable } from 'node:stream';
import { isNodeError } from '../base/errors.js';
import { storageError } from './storage-error.js';

/**
 * Writes text to a stream such as standard output. Ignores a closed pipe, because its reader does not want
 * more.
 *
 * @param name The stream, for messages.
 * @throws StorageError if the stream fails otherwise, such as a full disk.
 */
export function print(stream: Writable, text: string, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    // The callback reports the error, too. A stream emits `error` after the callback, so the listener must still be
    // there.
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
