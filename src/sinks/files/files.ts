import path from 'node:path';
import { getHeapStatistics } from 'node:v8';
import {
  checkOptions,
  func,
  milliseconds,
  type OptionTable,
  required,
  special,
  text,
  whole,
} from '../../check.js';
import { OptionError } from '../../errors.js';
import { batchesOf, identityOf, type Sink, type SinkRun } from '../../flow/flow.js';
import { type InternalBatches, internalBatchesOf } from '../../flow/internal-flow.js';
import { LinkedAbort } from '../../linked-abort.js';
import { type FileSystem, nodeFileSystem } from '../../storage/file-system.js';
import { type Lock, takeLock } from '../../storage/lock.js';
import { fileSystemIn, workingFolder } from '../../storage/working-folder.js';
import { lineOf, type ToLine } from '../line.js';
import { prepareFolder, readCheckpoint, type SinkSettings } from './checkpoint-format.js';
import { AGAIN, Committer, checkOutputs, checkpointPaths, lockPath, restore } from './committer.js';
import type { FileCounts } from './output-file.js';
import { type Output, Outputs } from './outputs.js';
import { type PathTemplate, parsePathTemplate } from './path-template.js';
import { type Route, routeByFunction, routeByTemplate } from './routes.js';
import type { Written } from './written.js';

export interface FilesOptions<T> {
  /**
   * Where each item goes: a template such as `out/{tag}/{day}.jsonl` with the fields `author` (the
   * handle), `day`, `format`, `hour`, `id`, `lang`, `minute`, `month`, `segment` (ten minutes) and
   * `tag` (from `routeByTag`), all times UTC; or a function of the item. What a template fills in is
   * made safe for file names and never leaves the folder that the template begins with; a function
   * answers for its own names (`safeName` helps), and only `..` in them is refused.
   */
  readonly path: string | ((item: T) => string);
  /**
   * A file that remembers what is safely written and where to go on. With it, the same script run
   * again after a crash goes on where it stood, each item exactly once; once all is done, it opens
   * nothing and returns the same result, until the file is deleted. It belongs to one flow: with
   * another query, other rules, or another operator that decides what passes, it is refused; what is
   * in the functions of `map` and `filter` may change. The source must give cursors.
   */
  readonly checkpoint?: string | undefined;
  /**
   * Compress, and add `.gz` to names that lack it.
   * @default true for a template that ends in `.gz`
   */
  readonly gzip?: boolean | { readonly level: number } | undefined;
  /**
   * Begin the next file before this one would grow past so many bytes of lines, before compression:
   * `snow.0001.jsonl`, `snow.0002.jsonl` and so on. A line that is longer has a file of its own.
   */
  readonly maxBytes?: number | undefined;
  /** @default 64 */
  readonly maxOpen?: number | undefined;
  /**
   * Files in one run, earlier parts of a resumed one included. Each takes up to 1 KiB of memory until
   * the run ends; one more than this ends it with a `StorageError`.
   * @default as many as fit into a quarter of the heap's limit: 524,288 at 2 GiB
   */
  readonly maxOutputs?: number | undefined;
  /** How an item becomes a line, where not the exact bytes of an activity or the JSON of a value. */
  readonly line?: ToLine<T> | undefined;
  /**
   * The least time between two commits, in milliseconds; 0 commits at every cursor. Each commit ends
   * a gzip member: with many slow outputs, a longer time compresses better.
   * @default 1000
   */
  readonly commitIntervalMs?: number | undefined;
}

const OPTIONS = {
  path: required(
    special<string | ((item: unknown) => string)>(
      'a template such as out/{day}.jsonl, or a function of the item',
      'a template or a function of the item',
      value => typeof value === 'string' || typeof value === 'function',
    ),
  ),
  checkpoint: text('the file that remembers what is written'),
  gzip: special<boolean | { readonly level: number }>(
    'whether to compress',
    'true, false or { level } with a level from 0 to 9',
    isGzip,
  ),
  maxBytes: whole('bytes of lines in one file', { min: 1 }),
  maxOpen: whole('files that are open at a time', { min: 1, default: 64 }),
  maxOutputs: whole('files in one run', { min: 1 }),
  line: func('how an item becomes a line'),
  commitIntervalMs: milliseconds('between two commits', { min: 0, default: 1000 }),
} satisfies OptionTable<FilesOptions<unknown>>;

/**
 * Writes every item as a line of a file. While the run lasts, a file is called `<name>.part`; at its
 * end all are made safe on disk and get their names, and a finished file of that name is replaced.
 *
 * Takes activities, which are written byte for byte as they came; activities with a tag; bytes; and
 * any JSON value. Resolves to what was written, runs before a resume included.
 *
 * @throws OptionError before any I/O.
 * @throws DataError for an item that has no line or no path.
 * @throws StorageError for a full disk, more files than `maxOutputs`, a foreign or damaged checkpoint, files shorter than it says.
 * @example
 * await pipeline(
 *   search(account(), { product: '30day', query: 'snow' }),
 *   dedupe(),
 *   routeByTag(),
 *   files({ path: 'out/{tag}/{day}.jsonl.gz', checkpoint: 'out/snow.checkpoint.json' }),
 * );
 */
export function files<T>(options: FilesOptions<T>): Sink<T, Written> {
  return filesOn(nodeFileSystem, options);
}

/** `files` on another file system, so that a test can take the disk away. */
export function filesOn<T>(fs: FileSystem, options: FilesOptions<T>): Sink<T, Written> {
  const plan = planOf(options);
  return async (input, run = {}) => {
    // Once for all calls of a run: the working folder may change or be deleted.
    const folder = workingFolder();
    const here = fileSystemIn(folder, fs);
    const { checkpoint } = plan;
    if (checkpoint === undefined) return write(here, folder, plan, input, run, undefined);
    await prepareFolder(here, path.resolve(folder, checkpoint));
    const lock = await takeLock(lockPath(checkpoint), { fs: here });
    try {
      return await write(here, folder, plan, input, run, lock);
    } finally {
      await lock.release();
    }
  };
}

/** The only output, where the path does not depend on the items. */
function onlyOutput<T>({ path: target }: Plan<T>): string | undefined {
  return typeof target !== 'function' && target.constant ? target.fill([]) : undefined;
}

const DEFAULT_LEVEL = 6;
const FLUSH_EVERY_MS = 1_000;
/** What one output takes until the run ends: 600 bytes were measured, and long paths take more. */
const OUTPUT_BYTES = 1024;

/** The options, checked. */
interface Plan<T> {
  readonly path: PathTemplate | ((item: T) => string);
  readonly checkpoint: string | undefined;
  readonly level: number | undefined;
  readonly maxBytes: number | undefined;
  readonly maxOpen: number;
  readonly maxOutputs: number;
  readonly line: ToLine<T> | undefined;
  readonly commitIntervalMs: number;
  readonly settings: SinkSettings;
}

async function write<T>(
  fs: FileSystem,
  folder: string,
  plan: Plan<T>,
  input: AsyncIterable<T>,
  { signal, progress }: SinkRun,
  lock: Lock | undefined,
): Promise<Written> {
  const { checkpoint } = plan;
  const owner = { sink: plan.settings, flow: identityOf(input) };
  const before = checkpoint === undefined ? undefined : await readCheckpoint(fs, checkpoint, owner);
  if (checkpoint !== undefined && before?.state === 'complete') {
    await checkOutputs(fs, checkpoint, before);
    return written(before.files);
  }

  // A full disk ends the source at once, also in the middle of a long wait.
  const broken = new LinkedAbort(signal);
  let journal: Committer | undefined;
  const outputs = new Outputs(fs, {
    ...plan,
    progress,
    folder,
    only: onlyOutput(plan),
    reserved: checkpoint === undefined ? [] : checkpointPaths(checkpoint),
    afterFailure: () => journal?.afterFailure() ?? AGAIN,
    onFailure: error => broken.abort(error),
  });
  try {
    if (checkpoint !== undefined && lock !== undefined) {
      const { commitIntervalMs: everyMs } = plan;
      journal = new Committer(fs, {
        ...{ file: checkpoint, owner, outputs, lock, everyMs, before },
      });
      if (before !== undefined) {
        await outputs.lock();
        outputs.resume(await restore(fs, checkpoint, before));
      }
    }
    if (before?.state !== 'finishing') {
      // A function of the caller may keep items, so their memory must not be released.
      const keeps = plan.line !== undefined || typeof plan.path === 'function';
      const read = keeps ? batchesOf : internalBatchesOf;
      await gather(
        plan,
        outputs,
        journal,
        read(input, { signal: broken.signal, resume: before?.cursor, progress }),
      );
    }
    return written(await (journal ?? outputs).finish());
  } catch (error) {
    throw outputs.failure ?? error;
  } finally {
    broken.unlink();
    await journal?.idle();
    await outputs.close();
  }
}

async function gather<T>(
  plan: Plan<T>,
  outputs: Outputs,
  journal: Committer | undefined,
  batches: InternalBatches<T>,
): Promise<void> {
  const route = routeOf(plan, outputs);
  // Who watches a slow run sees its lines soon. Compressed, few lines at a time take more room.
  const watched =
    plan.level === undefined
      ? setInterval(() => outputs.flush(), FLUSH_EVERY_MS).unref()
      : undefined;
  try {
    for await (const { items, cursor, origin, release } of batches) {
      for (const item of items) {
        route(item, origin).add(lineOf(item, plan.line, origin));
        if (outputs.full) await outputs.relieve();
      }
      release?.();
      if (cursor !== undefined) await journal?.reached(cursor);
      outputs.throwFailure();
    }
  } finally {
    clearInterval(watched);
  }
}

function routeOf<T>({ path: target, level }: Plan<T>, outputs: Outputs): Route<T, Output> {
  const open = (file: string) => outputs.open(file);
  if (typeof target !== 'function') return routeByTemplate(target, open);
  return routeByFunction(target, file => (level === undefined ? file : withGz(file)), open);
}

function written(files: readonly FileCounts[]): Written {
  return {
    posts: files.reduce((sum, { posts }) => sum + posts, 0),
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    files: files.map(({ path: file, posts, bytes }) => ({ path: file, posts, bytes })),
  };
}

function withGz(file: string): string {
  return /\.gz$/i.test(file) ? file : `${file}.gz`;
}

function planOf<T>(options: FilesOptions<T>): Plan<T> {
  const checked = checkOptions('files', OPTIONS, options);
  const { path: target, checkpoint, maxBytes, maxOpen, line, commitIntervalMs } = checked;
  const isTemplate = typeof target === 'string';
  const level = levelOf(checked.gzip ?? (isTemplate && /\.gz$/i.test(target)));
  const template = isTemplate && level !== undefined ? withGz(target) : target;
  const parsed = typeof template === 'string' ? parsePathTemplate(template) : template;
  if (typeof parsed !== 'function' && parsed.constant && checkpoint !== undefined) {
    const file = path.normalize(parsed.fill([]));
    if (checkpointPaths(path.normalize(checkpoint)).includes(file))
      throw new OptionError(
        'path',
        `Expected \`path\` to differ from the checkpoint and the names beside it, got ${JSON.stringify(file)}`,
      );
  }
  return {
    path: parsed,
    checkpoint,
    level,
    maxBytes,
    maxOpen,
    maxOutputs: checked.maxOutputs ?? outputsThatFit(),
    line,
    commitIntervalMs,
    settings: {
      path: typeof template === 'string' ? template : '(a function)',
      gzip: level !== undefined,
      maxBytes: maxBytes ?? null,
      line: line !== undefined,
    },
  };
}

function levelOf(gzip: boolean | { readonly level: number }): number | undefined {
  if (typeof gzip === 'boolean') return gzip ? DEFAULT_LEVEL : undefined;
  return gzip.level;
}

function outputsThatFit(): number {
  return Math.floor(getHeapStatistics().heap_size_limit / 4 / OUTPUT_BYTES);
}

function isGzip(value: unknown): boolean {
  if (typeof value === 'boolean') return true;
  if (typeof value !== 'object' || value === null) return false;
  const { level, ...others } = value as { readonly level?: unknown };
  const isLevel = Number.isInteger(level) && (level as number) >= 0 && (level as number) <= 9;
  return isLevel && Object.keys(others).length === 0;
}
