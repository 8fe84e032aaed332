import { getSystemErrorMap } from 'node:util';
import { isNodeError, MillraceError, StorageError } from '../base/errors.js';

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
  // A folder should be created here, or another process, or a path in other letter case, has created a file since the check.
  EEXIST: 'Something else has that name: choose another path',
  ELOOP: 'A symbolic link has that name: choose another path',
  ENAMETOOLONG: 'The name is too long: choose another path',
  EMFILE: 'Too many files are open: raise the limit, or open fewer at a time',
  EIO: 'Check the disk',
};

/** The advice that is another one where a file is only read. */
const READING_ADVICE: Readonly<Record<string, string>> = {
  EACCES: 'Allow this user to read there, or choose another path',
  EPERM: 'Allow this user to read there, or choose another path',
  ENOENT: 'It does not exist: check the path',
};

/** Node decodes names and arguments that are not UTF-8 to this character, and the text opens no file. */
export const NOT_UTF8 = '\ufffd';
const RENAME = 'It does not exist, or its name is not UTF-8: rename it';

/**
 * Makes a `StorageError` of a system error on `file`, with advice. Other errors are returned unchanged.
 *
 * @param doing such as `write`; with `read` as the first word, the advice is for a file that is only read
 * @param then appended to the advice, such as `, then run the same again`
 */
export function storageError(doing: string, file: string, cause: unknown, then = ''): unknown {
  return !(cause instanceof MillraceError) && codeOf(cause) !== undefined
    ? anyStorageError(doing, file, cause, { then })
    : cause;
}

/**
 * Makes a `StorageError` of any error on `file`, such as one of LMDB, or one of parsing the content. A `StorageError` and
 * an abort are returned unchanged.
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
    /** The advice where the system did not fail: the content is damaged. */
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

/** The code of a system error. LMDB gives its number. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || isAbort(error)) return undefined;
  const { code } = error;
  return typeof code === 'number'
    ? getSystemErrorMap().get(-code)?.[0]
    : typeof code === 'string'
      ? code
      : undefined;
}

/** The code of a `DOMException` is a number, too. */
function isAbort(error: unknown): boolean {
  return error instanceof DOMException || isNodeError(error, 'ABORT_ERR');
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

/** Runs `work` on `file` and throws all its errors as `StorageError`, but for aborts. */
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
