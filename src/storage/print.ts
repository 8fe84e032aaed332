import type { Writable } from 'node:stream';
import { isNodeError } from '../base/errors.js';
import { storageError } from './storage-error.js';

/**
 * Writes text to a stream such as standard output. Ignores the error of a closed pipe, because the reader of
 * the pipe does not want more text.
 *
 * @param name The name of the stream, for error messages.
 * @throws StorageError if the stream fails for any other reason than a closed pipe, such as a full disk.
 */
export function print(stream: Writable, text: string, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    // The callback of `write` reports the error. After that callback, the stream also emits `error`, so the
    // listener is removed only if there was no error.
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
