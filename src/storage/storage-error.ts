import { getSystemErrorMap } from 'node:util';
import { isNodeError, MillraceError, StorageError } from '../base/errors.js';

const ADVICE: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full: make room',
  EDQUOT: 'The disk quota is used up: make room',
  EACCES: 'Allow this user to write there, or choose another path',
  EPERM: 'Allow this user to write there, or choose another path',
  EROFS: 'The disk is read-only: choose another path',
  // Node reports this code for creating a folder on a read-only disk.
  ENOENT: 'The folder is gone, or its disk is read-only: choose another path',
  EISDIR: 'A folder has that name: choose another path',
  ENOTDIR: 'A file is where a folder is needed: choose another path',
  // The cause is a file where a folder must be created, or a file that another process, or a path with different
  // case, has created since the check.
  EEXIST: 'Something else has that name: choose another path',
  ELOOP: 'A symbolic link has that name: choose another path',
  ENAMETOOLONG: 'The name is too long: choose another path',
  EMFILE: 'Too many files are open: raise the limit, or open fewer at a time',
  EIO: 'Check the disk',
};

/** Advice for codes that mean something else if the file is only read. */
const READING_ADVICE: Readonly<Record<string, string>> = {
  EACCES: 'Allow this user to read there, or choose another path',
  EPERM: 'Allow this user to read there, or choose another path',
  ENOENT: 'It does not exist: check the path',
};

/**
 * Node decodes each invalid UTF-8 sequence in a name or argument to this character. The resulting string does
 * not open the file.
 */
export const NOT_UTF8 = '\ufffd';
const RENAME = 'It does not exist, or its name is not UTF-8: rename it';

/**
 * Converts a system error on `file` to a `StorageError` with advice. Returns other errors unchanged.
 *
 * @param doing the failed action, such as `write`; if its first word is `read`, the advice is for a file that
 * is only read
 * @param then appended to the advice, such as `, then run the same again`
 */
export function storageError(doing: string, file: string, cause: unknown, then = ''): unknown {
  return !(cause instanceof MillraceError) && codeOf(cause) !== undefined
    ? anyStorageError(doing, file, cause, { then })
    : cause;
}

/**
 * Converts any error on `file` to a `StorageError`, such as an error of LMDB, or of parsing the content.
 * Returns a `StorageError` and an abort unchanged.
 *
 * @param doing as in `storageError`
 */
export function anyStorageError(
  doing: string,
  file: string,
  cause: unknown,
  {
    then = '',
    otherwise,
  }: {
    readonly then?: string;
    /** The advice for errors that are not system errors, such as damaged content. */
    readonly otherwise?: string | undefined;
  } = {},
): unknown {
  if (cause instanceof StorageError || isAbort(cause)) return cause;
  const code = codeOf(cause);
  const reading = /^read\b/.test(doing) ? READING_ADVICE : ADVICE;
  const isMisnamed = code === 'ENOENT' && reading === READING_ADVICE && file.includes(NOT_UTF8);
  const systemAdvice = isMisnamed ? RENAME : (reading[code ?? ''] ?? ADVICE[code ?? '']);
  const advice = code === undefined ? otherwise : (systemAdvice ?? 'See the cause');
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new StorageError(
    `Could not ${doing} ${file}: ${reason}${advice === undefined ? '' : `. ${advice}${then}.`}`,
    {
      path: file,
      cause,
      retryable: ['ENOSPC', 'EDQUOT', 'EIO', 'EMFILE'].includes(code ?? ''),
    },
  );
}

/** The code of a system error. Errors of LMDB have only its number. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || isAbort(error)) return undefined;
  const { code } = error;
  return typeof code === 'number'
    ? getSystemErrorMap().get(-code)?.[0]
    : typeof code === 'string'
      ? code
      : undefined;
}

/**
 * Returns whether an error is an abort. The code alone is not enough, because the code of a
 * `DOMException` is a number.
 */
function isAbort(error: unknown): boolean {
  return error instanceof DOMException || isNodeError(error, 'ABORT_ERR');
}

/** Runs `work` on `file`, and throws its system errors as `StorageError`. */
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

/** Runs `work` on `file`, and throws all its errors except aborts as `StorageError`. */
export async function withAnyStorageError<T>(
  doing: string,
  file: string,
  work: () => T | Promise<T>,
  otherwise?: string,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw anyStorageError(doing, file, error, { otherwise });
  }
}
