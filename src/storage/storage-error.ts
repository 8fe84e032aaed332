import { getSystemErrorMap } from 'node:util';
import { isNodeError, MillraceError, StorageError } from '../base/errors.js';

const ADVICE: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full: make room',
  EDQUOT: 'The disk quota is used up: make room',
  EACCES: 'Allow this user to write there, or choose another path',
  EPERM: 'Allow this user to write there, or choose another path',
  EROFS: 'The disk is read-only: choose another path',
  // Node reports this code if a folder is to be created on a read-only disk.
  ENOENT: 'The folder is gone, or its disk is read-only: choose another path',
  EISDIR: 'A folder has that name: choose another path',
  ENOTDIR: 'A file is where a folder is needed: choose another path',
  // This code has several causes. A file may have the name of a folder that must be created. Another process
  // may have created the name since the check. Or a name exists in different case.
  EEXIST: 'Something else has that name: choose another path',
  ELOOP: 'A symbolic link has that name: choose another path',
  ENAMETOOLONG: 'The name is too long: choose another path',
  EMFILE: 'Too many files are open: raise the limit, or open fewer at a time',
  EIO: 'Check the disk',
};

/** Advice for codes that have a different meaning if the file is only read. */
const READING_ADVICE: Readonly<Record<string, string>> = {
  EACCES: 'Allow this user to read there, or choose another path',
  EPERM: 'Allow this user to read there, or choose another path',
  ENOENT: 'It does not exist: check the path',
};

/**
 * The character to which Node decodes each invalid UTF-8 sequence in a name or argument. A name with this
 * character does not open the file.
 */
export const NOT_UTF8 = '\ufffd';
const RENAME = 'It does not exist, or its name is not UTF-8: rename it';

/**
 * Converts a system error on `file` to a `StorageError` with advice. Returns other errors unchanged.
 *
 * @param doing the failed action, such as `write`. If its first word is `read`, the advice is for a file that
 * is only read.
 * @param then text to append to the advice, such as `, then run the same again`
 */
export function storageError(doing: string, file: string, cause: unknown, then = ''): unknown {
  return !(cause instanceof MillraceError) && codeOf(cause) !== undefined
    ? anyStorageError(doing, file, cause, { then })
    : cause;
}

/**
 * Converts any error on `file` to a `StorageError`, for example an error from LMDB or from parsing the
 * content. Returns a `StorageError` or an abort error unchanged.
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
    /** The advice for an error that is not a system error, such as damaged content. */
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

/** Returns the code of a system error. Errors from LMDB give the code only as a number. */
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
 * Returns whether an error is an abort: a `DOMException`, whose code is a number, or an error with the code
 * `ABORT_ERR`.
 */
function isAbort(error: unknown): boolean {
  return error instanceof DOMException || isNodeError(error, 'ABORT_ERR');
}

/** Runs `work` on `file`. Converts system errors that it throws to `StorageError`. */
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

/** Runs `work` on `file`. Converts all errors that it throws, except aborts, to `StorageError`. */
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
