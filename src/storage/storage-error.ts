import { MillraceError, StorageError } from '../errors.js';

const ADVICE: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full: make room',
  EDQUOT: 'The disk quota is used up: make room',
  EACCES: 'Allow this user to write there, or choose another path',
  EPERM: 'Allow this user to write there, or choose another path',
  EROFS: 'The disk is read-only: choose another path',
  // What Node says of a new folder on a disk that is read-only.
  ENOENT: 'The folder is gone, or its disk is read-only: choose another path',
  EISDIR: 'A folder has that name: choose another path',
  ENOTDIR: 'A file stands where a folder is needed: choose another path',
  EEXIST: 'A file stands where a folder is needed: choose another path',
  ELOOP: 'A symbolic link has that name: choose another path',
  ENAMETOOLONG: 'The name is too long: choose another path',
  EMFILE: 'Too many files are open: raise the limit, or open fewer at a time',
  EIO: 'Check the disk',
};

/**
 * The error of a failed call on `file`, with what to do about it. What is not an error of the system
 * stays as it is.
 *
 * @param doing such as `write`
 * @param then added to the advice, such as `, then run the same again`
 */
export function storageError(doing: string, file: string, cause: unknown, then = ''): unknown {
  if (cause instanceof MillraceError || !(cause instanceof Error) || !('code' in cause))
    return cause;
  // An abort: a DOMException has a number.
  if (typeof cause.code !== 'string' || cause.code === 'ABORT_ERR') return cause;
  const advice = ADVICE[String(cause.code)] ?? 'See the cause';
  return new StorageError(`Could not ${doing} ${file}: ${cause.message}. ${advice}${then}.`, {
    path: file,
    cause,
    retryable: ['ENOSPC', 'EDQUOT', 'EIO', 'EMFILE'].includes(String(cause.code)),
  });
}

/** Does `work` on `file`; a failed call of it is thrown as `storageError`. */
export async function withStorageError<T>(
  doing: string,
  file: string,
  work: () => Promise<T>,
  then = '',
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw storageError(doing, file, error, then);
  }
}
