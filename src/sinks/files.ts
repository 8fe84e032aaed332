import { checkOptions, func, type OptionTable } from '../base/check.js';
import type { Sink } from '../flow/flow.js';
import { type LineItem, lineOf, type ToLine } from '../flow/line.js';
import { type FileSystem, nodeFileSystem } from '../storage/file-system.js';
import {
  FILE_SINK_OPTIONS,
  type FileSinkOptions,
  fileSinkConfig,
  fileSinkOn,
} from './commit/file-sink.js';
import type { Written } from './commit/run-result.js';
import { linesFormat } from './write/format.js';

/**
 * Options of `files`: the path for each item, the checkpoint, and the format, size and number of the files.
 */
export interface FilesOptions<T> extends FileSinkOptions<T> {
  /** Converts an item to a line. @default the exact bytes of an activity; the JSON of any other value */
  readonly line?: ToLine<T> | undefined;
}

const OPTIONS = {
  ...FILE_SINK_OPTIONS,
  line: func('how an item becomes a line'),
} satisfies OptionTable<FilesOptions<unknown>>;

/**
 * Writes every item as a line of a file. During the run, a file is called `<name>.part`. At the end, all
 * files are synced to disk and renamed, which replaces finished files of the same names.
 *
 * Accepts activities, whose bytes are written unchanged; activities with a tag; bytes; and any JSON value.
 * Resolves to the counts and names of the written files, including the files of earlier runs that this run
 * has resumed.
 *
 * @throws OptionError before any I/O.
 * @throws DataError for an item that cannot be converted to a line or a path.
 * @throws StorageError for a full disk, more files than `maxOutputs`, a checkpoint that is damaged or belongs
 * to another flow, and files that are shorter than the checkpoint records.
 * @example
 * await pipeline(
 *   search(account(), { product: '30day', query: 'snow' }),
 *   dedupe(),
 *   routeByTag(),
 *   files({ path: 'out/{tag}/{day}.jsonl.gz', checkpoint: 'out/snow.checkpoint.json' }),
 * );
 */
export function files<T>(options: FilesOptions<T>): Sink<LineItem<T>, Written> {
  return filesOn<T>(nodeFileSystem, options) as Sink<LineItem<T>, Written>;
}

/** Like `files`, but on the given file system, so that a test can make the disk fail. */
export function filesOn<T>(fs: FileSystem, options: FilesOptions<T>): Sink<T, Written> {
  const { line, ...checked } = checkOptions('files', OPTIONS, options);
  const config = fileSinkConfig<T>('files', checked, {
    format: () =>
      linesFormat({
        encode: (item, origin) => lineOf(item, line, origin),
        rows: line === undefined ? {} : undefined,
      }),
    settings: { line: line !== undefined },
    takesFunctions: line !== undefined,
    makesLines: line !== undefined,
  });
  return fileSinkOn(fs, config);
}
