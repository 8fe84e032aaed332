import { MillraceError, StorageError } from '../errors.js';

const ADVICE: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full: make room',
  EDQUOT: 'The disk quota is used up: make room',
  EACCES: 'Allow this user to write there, or choose another path',
  EPERM: 'Allow this user to write there, or choose another path',
  EROFS: 'The disk is read-only: choose another path',
  // Node's code for creating a folder on a read-only disk.
  ENOENT: 'The folder is gone, or its disk is read-only: choose another path',
  EISDIR: 'A folder has that name: choose another path',
  ENOTDIR: 'A file is where a folder is needed: choose another path',
  // Of a folder to be made, or of a file that another process, or a name in another case, made meanwhile.
  EEXIST: 'Something else has that name: choose another path',
  ELOOP: 'A symbolic link has that name: choose another path',
  ENAMETOOLONG: 'The name is too long: choose another path',
  EMFILE: 'Too many files are open: raise the limit, or open fewer at a time',
  EIO: 'Check the disk',
};

/**
 * Makes a `StorageError` of a system error on `file`, with advice. Other errors are returned unchanged.
 *
 * @param doing such as `write`
 * @param then appended to the advice, such as `, then run the same again`
 */
export function storageError(doing: string, file: string, cause: unknown, then = ''): unknown {
  if (cause instanceof MillraceError || !(cause instanceof Error) || !('code' in cause))
    return cause;
  // An abort: the code of a DOMException is a number.
  if (typeof cause.code !== 'string' || cause.code === 'ABORT_ERR') return cause;
  const advice = ADVICE[String(cause.code)] ?? 'See the cause';
  return new StorageError(`Could not ${doing} ${file}: ${cause.message}. ${advice}${then}.`, {
    path: file,
    cause,
    retryable: ['ENOSPC', 'EDQUOT', 'EIO', 'EMFILE'].includes(String(cause.code)),
  });
}

/** Runs `work` on `file` and throws its system errors as `StorageError`. */
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
