import pLimit from 'p-limit';
import { answerOf } from '../../base/abortable.js';
import { func, type OptionTable, oneOf, optionError, whole } from '../../base/check.js';
import type { Json } from '../../json/type-guards.js';
import type { WrittenFile } from './run-result.js';

export interface OnFileOptions {
  /**
   * Called with each finished file, for example to upload it. The file then has its final name and is synced to
   * disk. Files get their final names at the end of the run. `parquet` files with a checkpoint get them at each
   * commit. The run waits for all calls to end.
   *
   * The result of a call can be any JSON value. It is stored in the checkpoint as `handedOn`. After a crash,
   * the next run calls the function only for files without a stored result, so interrupted calls are repeated.
   *
   * @param at `at.signal` fires when the run must end.
   */
  readonly onFile?:
    | ((file: WrittenFile, at: { readonly signal: AbortSignal | undefined }) => unknown)
    | undefined;
  /** The maximum number of concurrent calls of `onFile`. @default 4 */
  readonly onFileConcurrency?: number | undefined;
  /**
   * What happens if `onFile` fails. `'end'` ends the run with the error. `'keep'` continues the run; the file
   * then has no `handedOn` in the result and the checkpoint. In both cases, the next run calls `onFile` for
   * this file again.
   * @default 'end'
   */
  readonly onFileError?: 'end' | 'keep' | undefined;
}

export const ON_FILE_OPTIONS = {
  onFile: func('what is called with each finished file'),
  onFileConcurrency: whole('calls of `onFile` at a time', { min: 1, default: 4 }),
  onFileError: oneOf('what to do when `onFile` fails', ['end', 'keep'], 'end'),
} satisfies OptionTable<OnFileOptions>;

/**
 * Calls `onFile` for finished files, and `record` with the result of each call as JSON. After the first
 * error, it starts no more calls, waits for the running calls, and throws the error.
 */
export type CallOnFile = (
  files: readonly WrittenFile[],
  signal: AbortSignal | undefined,
  record: (file: string, handedOn: Json) => Promise<void>,
) => Promise<void>;

export function onFileCaller(
  call: string,
  {
    onFile,
    onFileConcurrency,
    onFileError,
  }: { readonly [Name in keyof OnFileOptions]-?: NonNullable<OnFileOptions[Name]> },
): CallOnFile {
  return async (files, signal, record) => {
    const limit = pLimit(onFileConcurrency);
    let failure: { readonly error: unknown } | undefined;
    const callOnFile = async ({ path, posts, bytes }: WrittenFile) => {
      if (failure !== undefined) return;
      let answer: unknown;
      try {
        signal?.throwIfAborted();
        answer = await answerOf(onFile({ path, posts, bytes }, { signal }), signal);
      } catch (error) {
        if (onFileError === 'end' || signal?.aborted === true) failure ??= { error };
        return;
      }
      try {
        await record(path, jsonOf(call, answer));
      } catch (error) {
        failure ??= { error };
      }
    };
    await Promise.all(files.map(file => limit(() => callOnFile(file))));
    if (failure !== undefined) throw failure.error;
  };
}

function jsonOf(call: string, answer: unknown): Json {
  try {
    return JSON.parse(JSON.stringify(answer) ?? 'null') as Json;
  } catch (cause) {
    throw optionError(
      call,
      'onFile',
      'must resolve to what JSON can hold: the checkpoint keeps it. Return nothing, or a string',
      { cause },
    );
  }
}
