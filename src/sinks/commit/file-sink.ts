/**
 * The core of all sinks that write files. A sink defines a `FileFormat` (format.ts), which converts items to
 * bytes, and passes a configuration to `fileSinkOn`. The shortest example is files.ts. The core handles
 * paths, numbered files, compression, memory, the limit on open files, locks and the checkpoint.
 *
 * A format creates an `Encoder` for each file. `encode` converts an item to an entry, `add` takes the entry,
 * `flush` returns the next bytes, and `end` returns the last bytes. Files of lines use `linesFormat({ encode,
 * header })` (format.ts): `encode` returns the line of an item without a line feed. Each new file begins with
 * the header. A format whose files cannot be continued sets `wholeFiles`; with a checkpoint, each commit then
 * ends all open files. If the format has `rows`, threads encode the posts of the stored files that they have
 * decoded (row-writer.ts).
 *
 * A configuration has a function that loads the library that the format needs, and returns the format.
 * `fileSinkConfig` creates a configuration from the options that all file sinks share. If an item cannot be
 * encoded, `encode` or `add` throws a `DataError`.
 */

import path from 'node:path';
import { getHeapStatistics } from 'node:v8';
import {
  type Checked,
  milliseconds,
  type OptionTable,
  optionError,
  required,
  special,
  text,
  whole,
} from '../../base/check.js';
import { type FlowStep, identityOf, type Sink } from '../../flow/flow.js';
import { withInternals } from '../../flow/internals.js';
import type { Compression } from '../../gzip/compression.js';
import { nodeZstd } from '../../gzip/zstd.js';
import { type FileSystem, nodeFileSystem } from '../../storage/file-system.js';
import { PART } from '../write/output-names.js';
import { withSuffix } from '../write/path-function.js';
import { extensionProblem, parsePathTemplate } from '../write/path-template.js';
import { ON_FILE_OPTIONS, type OnFileOptions, onFileCaller } from './call-on-file.js';
import { checkpointPaths } from './checkpoint-file.js';
import { checkDamaged } from './damaged-log.js';
import { type FileSinkConfig, onlyOutput } from './file-sink-run.js';
import type { Written } from './run-result.js';
import { runSinks } from './run-sinks.js';

/** The parts of a file sink that `tee` needs if one of its branches ends in this sink. */
export class FileSink {
  readonly fs: FileSystem;
  readonly config: FileSinkConfig<unknown>;

  constructor(fs: FileSystem, config: FileSinkConfig<unknown>) {
    this.fs = fs;
    this.config = config;
  }
}

export function fileSinkOn<T>(fs: FileSystem, given: FileSinkConfig<T>): Sink<T, Written> {
  // On another file system, uses no threads. They write to files by descriptor, which works only in Node's
  // file system.
  const config = { ...given, workers: fs === nodeFileSystem ? given.workers : 0 };
  const { checkpoint, settings } = config;
  const sink: Sink<T, Written> = async (input, run = {}) => {
    const { signal: ended, progress } = run;
    const {
      written: [written],
    } = await runSinks<T>(fs, {
      sinks: [{ config, progress }],
      checkpoint,
      damaged: config.damaged,
      progress,
      signal: ended,
      owner: { sink: settings, flow: identityOf(input) },
      read: async ({ sinkRuns: [sinkRun], signal, before, committer, damaged }) =>
        sinkRun?.write(
          input,
          { signal, progress, resume: before?.cursor, damaged },
          cursor => committer?.reached(cursor),
          async cursor => committer?.commitLast(cursor),
        ),
    });
    return written as Written;
  };
  // The cast is safe, because only `tee` uses `branch`, and `tee` gives it the same items that `sink` would
  // otherwise get.
  const branch = new FileSink(fs, config as FileSinkConfig<unknown>);
  return withInternals(sink, { holdsLocks: true, counts: true, branch });
}

/** The options that all sinks that write files share. */
export interface FileSinkOptions<T> extends OnFileOptions {
  /**
   * The path of each item's file, either a template or a function. A template such as `out/{tag}/{day}.jsonl`
   * may have the fields `author` (the handle), `day`, `format`, `hour`, `id`, `lang`, `minute`, `month`,
   * `segment` (ten minutes) and `tag` (from `routeByTag`). All times are UTC. Values of fields are escaped to
   * be safe file names. They never lead out of the folder at the start of the template. A function gets the
   * item, and must itself return safe names (use `safeName`); only names with `..` are refused.
   */
  readonly path: string | ((item: T) => string);
  /**
   * A file that records the safely written output and the cursor after it. After a crash, the same script
   * resumes there, and each item is written exactly once. After a complete run, the same script writes nothing
   * and sends no requests. It returns the same result, with `completeSince`, until the checkpoint file is
   * deleted. If the source is `incremental`, the next run of the script instead continues and appends to the
   * files. Each file is then named `<name>.part` again until the run has ended. A checkpoint belongs to one
   * flow and one sink. It is refused if the query, the rules, an operator that decides which items pass, or an
   * option of the sink has changed. The functions passed to `map` and `filter` may change. The source must
   * deliver cursors.
   */
  readonly checkpoint?: string | undefined;
  /**
   * A file for damaged records of earlier stages, and for items for which the sink cannot create a line, row
   * or path. They are written to this file and skipped, and the run continues. If an earlier stage has
   * `onDamaged`, that function is called first. Errors of a whole file or connection still end the run.
   *
   * Each line of the file is JSON. `origin`, `line` and `byteOffset` or `request` tell where the record comes
   * from. `error` tells why the record was skipped. `text` has the exact bytes of the record, or `base64` has
   * them if they are not valid UTF-8. If `truncated` is set, only the first bytes are included.
   *
   * The file is committed together with the output, so each record is in it once, however the run ends. The
   * file is called `<name>.part` until the run has ended. With this option, threads are not used for posts.
   * @default the first such record ends the run
   */
  readonly damaged?: string | undefined;
  /**
   * Whether to compress the files with gzip, and to add `.gz` to names that do not end in it. If the template
   * ends in `.zst`, files are compressed with zstd, which requires Node 22.15 or later.
   * @default true for a template that ends in `.gz`
   */
  readonly gzip?: boolean | { readonly level: number } | undefined;
  /**
   * The maximum size of a file in bytes before compression. Before a file would exceed this size, the next
   * file begins: `snow.0001.jsonl`, `snow.0002.jsonl` and so on. An item that is larger than this size gets a
   * separate file.
   * @default no limit
   */
  readonly maxBytes?: number | undefined;
  /** The maximum number of files that are open at the same time. @default 64 */
  readonly maxOpen?: number | undefined;
  /**
   * The maximum number of files in one run, including files that it continues from an earlier run. Each file
   * takes up to 1 KiB of memory until the run ends. If the run needs one more file, it ends with a
   * `StorageError`.
   * @default the number that fits into a quarter of the old generation of the heap: 524,288 with
   * `--max-old-space-size=2048`
   */
  readonly maxOutputs?: number | undefined;
  /**
   * The minimum time between two commits, in milliseconds. With 0, every cursor is committed. Each commit
   * ends a gzip member, so if outputs grow slowly, a longer interval compresses better.
   * @default 1000
   */
  readonly commitIntervalMs?: number | undefined;
  /**
   * The maximum number of threads. They inflate the files of `localFiles` or of a job, and encode or write
   * the posts in these files. Threads are used only if no function of yours gets the posts on the way from
   * the files to the sink. With 0, the main thread does everything.
   * @default one per core, at most 16, for 32 MiB of files or more; otherwise 0
   */
  readonly workers?: number | undefined;
}

export const FILE_SINK_OPTIONS = {
  path: required(
    special<string | ((item: unknown) => string)>(
      'a template such as out/{day}.jsonl, or a function of the item',
      'a template or a function of the item',
      value => typeof value === 'string' || typeof value === 'function',
    ),
  ),
  checkpoint: text('the file that remembers what is written'),
  damaged: text('the file of the records that cannot be used'),
  gzip: special<boolean | { readonly level: number }>(
    'whether to compress',
    'true, false or { level } with a level from 0 to 9',
    isGzip,
  ),
  maxBytes: whole('bytes in one file, before compression', { min: 1 }),
  maxOpen: whole('files that are open at a time', { min: 1, default: 64 }),
  maxOutputs: whole('files in one run', { min: 1 }),
  commitIntervalMs: milliseconds('between two commits', { min: 0, default: 1000 }),
  workers: whole('threads that read stored files', { min: 0, max: 64 }),
  ...ON_FILE_OPTIONS,
} satisfies OptionTable<FileSinkOptions<unknown>>;

/**
 * The options of a file sink after validation. `gzip` is optional here, because the sink `parquet` has no
 * such option.
 */
type CheckedOptions<T> = Omit<
  Checked<FileSinkOptions<T>, typeof FILE_SINK_OPTIONS>,
  'gzip' | 'workers' | 'commitIntervalMs'
> & {
  readonly workers?: number | undefined;
  readonly gzip?: FileSinkOptions<T>['gzip'];
  readonly commitIntervalMs: number | undefined;
};

const DEFAULT_LEVEL = 6;
/**
 * The memory that one output takes until the run ends, in bytes. 600 bytes were measured; long paths take
 * more.
 */
const OUTPUT_BYTES = 1024;
/**
 * The part of the heap limit for the young generation: three semi-spaces of 16 MiB each on 64-bit systems.
 */
const YOUNG_GENERATION = 48 << 20;

/**
 * Returns the configuration of a sink that writes files.
 *
 * @param call The name of the sink.
 * @param settings The options beyond `FileSinkOptions` that affect the content of the files.
 * @param takesFunctions Whether the sink passes items to a function of the user other than `path`.
 * @throws OptionError
 */
export function fileSinkConfig<T>(
  call: string,
  options: CheckedOptions<T>,
  {
    format,
    settings,
    takesFunctions,
    makesLines = false,
  }: {
    readonly format: FileSinkConfig<T>['format'];
    readonly settings: Omit<FlowStep, 'step'>;
    readonly takesFunctions: boolean;
    readonly makesLines?: boolean;
  },
): FileSinkConfig<T> {
  const { path: target, checkpoint, maxBytes, damaged, onFile } = options;
  const problem =
    typeof target === 'string' ? extensionProblem(call, target, makesLines) : undefined;
  if (problem !== undefined) throw optionError(call, 'path', problem);
  const compression = compressionOf(call, options);
  const suffix = compression?.kind === 'gzip' ? '.gz' : '';
  const template = typeof target === 'string' ? withSuffix(target, suffix) : undefined;
  const config: FileSinkConfig<T> = {
    ...options,
    settings: {
      step: call,
      path: template ?? '(a function)',
      gzip: compression?.kind === 'gzip',
      maxBytes: maxBytes ?? null,
      ...settings,
    },
    format,
    path:
      typeof target === 'string'
        ? parsePathTemplate(call, template as string, compression?.kind === 'zstd')
        : target,
    suffix,
    compression,
    maxOutputs: options.maxOutputs ?? outputsThatFit(),
    callOnFile: onFile && onFileCaller(call, { ...options, onFile }),
    keepsItems: takesFunctions || typeof target === 'function',
  };
  if (checkpoint !== undefined) mustDiffer(call, config, checkpoint);
  if (damaged !== undefined) checkDamagedOf(call, damaged, { configs: [config], checkpoint });
  return config;
}

/**
 * Compares the path of a sink that writes a single file with the path of the checkpoint.
 *
 * @throws OptionError If the sink would write to the checkpoint or to its temporary or lock files. Also if
 * the checkpoint has the name of the unfinished output.
 */
export function mustDiffer<T>(call: string, config: FileSinkConfig<T>, checkpoint: string): void {
  const only = onlyOutput(config);
  if (only === undefined) return;
  const file = path.normalize(only);
  if (checkpointPaths(path.normalize(checkpoint)).includes(file))
    throw optionError(
      call,
      'path',
      `must differ from the checkpoint and its temporary and lock files, got ${JSON.stringify(file)}`,
    );
  if (path.normalize(checkpoint) === file + PART)
    throw optionError(
      call,
      'checkpoint',
      `must not be the name of the unfinished output, got ${JSON.stringify(checkpoint)}`,
    );
}

/**
 * @throws OptionError If `damaged` ends in `.part`, `.gz` or `.zst`, or if it is the path of an output, the
 * checkpoint, or the temporary or lock file of the checkpoint.
 */
export function checkDamagedOf<T>(
  call: string,
  damaged: string,
  {
    configs,
    checkpoint,
  }: {
    readonly configs: readonly FileSinkConfig<T>[];
    readonly checkpoint: string | undefined;
  },
): void {
  checkDamaged(call, damaged);
  const file = path.normalize(damaged);
  const refused = (what: string) =>
    optionError(call, 'damaged', `must differ from ${what}, got ${JSON.stringify(damaged)}`);
  const others = configs.flatMap(config => onlyOutput(config) ?? []);
  if (others.some(other => path.normalize(other) === file)) throw refused('`path`');
  if (checkpoint !== undefined && checkpointPaths(path.normalize(checkpoint)).includes(file))
    throw refused('the checkpoint and its temporary and lock files');
}

/** @throws OptionError if the template ends in `.zst`, but this version of Node cannot write zstd. */
function compressionOf<T>(call: string, options: CheckedOptions<T>): Compression | undefined {
  const { path: target } = options;
  // Only templates are checked. The names that a function returns are not known yet when options are checked.
  const template = 'gzip' in options && typeof target === 'string' ? target : '';
  const { gzip = /\.gz$/i.test(template) } = options;
  if (gzip !== false) return { kind: 'gzip', level: gzip === true ? DEFAULT_LEVEL : gzip.level };
  if (!/\.zst$/i.test(template)) return undefined;
  if (nodeZstd === undefined)
    throw optionError(
      call,
      'path',
      `must not end in .zst: Node writes zstd from version 22.15 on, and this is ${process.version}. Use a newer Node, or .gz`,
    );
  return { kind: 'zstd' };
}

function outputsThatFit(): number {
  // Outputs live as long as the run, so they are in the old generation of the heap. Its limit is the heap
  // limit minus the young generation.
  const oldGeneration = getHeapStatistics().heap_size_limit - YOUNG_GENERATION;
  return Math.max(1, Math.floor(oldGeneration / 4 / OUTPUT_BYTES));
}

function isGzip(value: unknown): boolean {
  if (typeof value === 'boolean') return true;
  if (typeof value !== 'object' || value === null) return false;
  const { level, ...others } = value as { readonly level?: unknown };
  const isLevel = Number.isInteger(level) && (level as number) >= 0 && (level as number) <= 9;
  return isLevel && Object.keys(others).length === 0;
}
