/**
 * The core of all sinks that write files. A sink on it says how items become bytes, as a `Format`
 * (format.ts), and passes a configuration to `fileSinkOn`; files.ts is the shortest example. The core does the rest:
 * paths, numbered files, compression, memory, limits of open files, locks, the checkpoint.
 *
 * A format makes an `Encoder` for each file: `encode` says what it takes for an item, `add` takes that, `flush` returns
 * the next bytes, `end` the last. For files of lines there is one already: `linesFormat({ encode, header })` (format.ts),
 * where `encode` returns the line of an item, without a line feed, and each new file begins with the header. A format whose
 * files have an end, and cannot be continued, sets `wholeFiles`: with a checkpoint, each commit ends all open files.
 * By `rows`, threads encode the posts of stored files that they hold (row-writer.ts).
 *
 * A configuration has a function that returns the format: where a format needs a large library, the function loads it.
 * `fileSinkConfig` makes a configuration of the options that all such sinks have.
 * For an item that does not fit, `encode` or `add` throws a `DataError`.
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
import { withSuffix } from '../write/path-function.js';
import { extensionProblem, parsePathTemplate } from '../write/path-template.js';
import { ON_FILE_OPTIONS, type OnFileOptions, onFileCaller } from './call-on-file.js';
import { checkpointPaths } from './checkpoint-file.js';
import { checkDamaged } from './damaged-log.js';
import { type FileSinkConfig, onlyOutput } from './file-sink-run.js';
import type { Written } from './run-result.js';
import { runSinks } from './run-sinks.js';

/** A file sink, as `tee` sees it. */
export class FileSink {
  readonly fs: FileSystem;
  readonly config: FileSinkConfig<unknown>;

  constructor(fs: FileSystem, config: FileSinkConfig<unknown>) {
    this.fs = fs;
    this.config = config;
  }
}

/** Makes a sink of a configuration. */
export function fileSinkOn<T>(fs: FileSystem, given: FileSinkConfig<T>): Sink<T, Written> {
  // Threads write to files of the system.
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
  // Only `tee` reads the configuration, and gives it the items that the sink would get.
  const branch = new FileSink(fs, config as FileSinkConfig<unknown>);
  return withInternals(sink, { holdsLocks: true, counts: true, branch });
}

/** The options that all sinks that write files share. */
export interface FileSinkOptions<T> extends OnFileOptions {
  /**
   * The file of each item: a template such as `out/{tag}/{day}.jsonl` with the fields `author` (the
   * handle), `day`, `format`, `hour`, `id`, `lang`, `minute`, `month`, `segment` (ten minutes) and
   * `tag` (from `routeByTag`), all times UTC; or a function of the item. What a template fills in is
   * made safe for file names and never leaves the folder at the start of the template; a function
   * is responsible for its own names (use `safeName`), and only `..` in them is refused.
   */
  readonly path: string | ((item: T) => string);
  /**
   * A file that records the safely written output and the cursor after it. Running the same script again after a crash
   * resumes there, and each item is written exactly once. After a complete run, the same script opens nothing and
   * returns the same result, with `completeSince`, until the file is deleted; if the source is `incremental`, it
   * continues and appends to the files, each of which is named `<name>.part` again until the run has ended. A
   * checkpoint belongs to one flow and one sink: it is refused if the query, the rules, an operator that decides which
   * items pass, or options of the sink have changed; the functions given to `map` and `filter` may change. The source
   * must deliver cursors.
   */
  readonly checkpoint?: string | undefined;
  /**
   * A file of the records that cannot be used: each record that `onDamaged` of a stage before the sink would get, and
   * each item whose line, row or path the sink cannot make. They are skipped, and the run continues. A stage
   * with `onDamaged` calls it first. Each line is JSON: `origin`, `line` and `byteOffset` or `request` say where the
   * record comes from, `error` says why it was skipped, and `text` has its exact bytes, or `base64` if they are not valid
   * UTF-8 (only the first bytes if `truncated` is set). The file is committed with the output, so that each record is there
   * once, whatever ends the run; it is called `<name>.part` until the run has ended. Posts do not pass through threads
   * then. Errors of a whole file or connection still end the run.
   * @default the first such record ends the run
   */
  readonly damaged?: string | undefined;
  /**
   * Compresses the files, and adds `.gz` to names without it. A template that ends in `.zst` compresses
   * with zstd, which Node has from version 22.15 on.
   * @default true for a template that ends in `.gz`
   */
  readonly gzip?: boolean | { readonly level: number } | undefined;
  /**
   * The maximum size of a file in bytes before compression. The next file begins before it is exceeded:
   * `snow.0001.jsonl`, `snow.0002.jsonl` and so on. A longer item gets its own file.
   * @default no limit
   */
  readonly maxBytes?: number | undefined;
  /** The maximum number of files open at a time. @default 64 */
  readonly maxOpen?: number | undefined;
  /**
   * The maximum number of files in one run, including files that it resumes. Each takes up to 1 KiB of memory until the
   * run ends; one more file than this ends the run with a `StorageError`.
   * @default the number that fits into a quarter of the old generation of the heap: 524,288 with
   * `--max-old-space-size=2048`
   */
  readonly maxOutputs?: number | undefined;
  /**
   * The minimum time between two commits, in milliseconds; 0 commits at every cursor. Each commit ends
   * a gzip member, so a longer interval compresses better if outputs grow slowly.
   * @default 1000
   */
  readonly commitIntervalMs?: number | undefined;
  /**
   * Maximum number of threads that inflate stored files and files of a job, and encode or write their posts, where
   * no function of yours looks at the posts in between. `0` does all on the main thread.
   * @default as many as there are cores, up to 16, for 32 MiB of files or more
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

/** The options of `FileSinkOptions`, checked; a sink without `gzip` omits it. */
type CheckedOptions<T> = Omit<
  Checked<FileSinkOptions<T>, typeof FILE_SINK_OPTIONS>,
  'gzip' | 'workers' | 'commitIntervalMs'
> & {
  readonly workers?: number | undefined;
  readonly gzip?: FileSinkOptions<T>['gzip'];
  readonly commitIntervalMs: number | undefined;
};

const DEFAULT_LEVEL = 6;
/** Memory of one output until the run ends: 600 bytes measured, more for long paths. */
const OUTPUT_BYTES = 1024;
/** What the heap limit has for short-lived objects: three spaces of 16 MiB on 64-bit systems. */
const YOUNG_GENERATION = 48 << 20;

/**
 * Makes a configuration of checked options.
 *
 * @param call The name of the sink.
 * @param settings The other options that the contents of the files depend on.
 * @param takesFunctions Whether functions of the caller, apart from `path`, see the items.
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
    /** Whether a function of the caller makes the lines. */
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

/** @throws OptionError If the single output of a sink is a file of the checkpoint. */
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
}

/** @throws OptionError If the file of damaged records is one of another kind. */
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

/** @throws OptionError for zstd, where Node does not write it. */
function compressionOf<T>(call: string, options: CheckedOptions<T>): Compression | undefined {
  const { path: target } = options;
  // Only a template says it: names that a function returns are known too late to refuse them.
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
  // Objects that stay move to the old generation, which has what the young one leaves of the limit.
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
