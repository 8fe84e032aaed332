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

/** Options of `files`. */
export interface FilesOptions<T> {
  /**
   * Where each item goes: a template such as `out/{tag}/{day}.jsonl` with the fields `author` (the
   * handle), `day`, `format`, `hour`, `id`, `lang`, `minute`, `month`, `segment` (ten minutes) and
   * `tag` (from `routeByTag`), all times UTC; or a function of the item. What a template fills in is
   * made safe for file names and never leaves the folder that the template begins with; a function
   * is responsible for its own names (use `safeName`), and only `..` in them is refused.
   */
  readonly path: string | ((item: T) => string);
  /**
   * A file that stores what is safely written and the cursor after it. Running the same script again
   * after a crash resumes there, and each item is written exactly once. After a complete run, the same
   * script opens nothing and returns the same result until the file is deleted. A checkpoint belongs to
   * one flow: it is refused with another query, other rules, or another operator that decides which items
   * pass; the functions given to `map` and `filter` may change. The source must deliver cursors.
   */
  readonly checkpoint?: string | undefined;
  /**
   * Compress, and add `.gz` to names that lack it.
   * @default true for a template that ends in `.gz`
   */
  readonly gzip?: boolean | { readonly level: number } | undefined;
  /**
   * The maximum size of a file in bytes of lines, before compression. The next file begins before it is
   * exceeded: `snow.0001.jsonl`, `snow.0002.jsonl` and so on. A longer line gets its own file.
   * @default no limit
   */
  readonly maxBytes?: number | undefined;
  /** The maximum number of files open at a time. @default 64 */
  readonly maxOpen?: number | undefined;
  /**
   * The maximum number of files in one run, those of a resumed run included. Each takes up to 1 KiB of
   * memory until the run ends; one more file than this ends the run with a `StorageError`.
   * @default as many as fit into a quarter of the heap's limit: 524,288 at 2 GiB
   */
  readonly maxOutputs?: number | undefined;
  /** Turns an item into a line. @default the exact bytes of an activity, the JSON of any other value */
  readonly line?: ToLine<T> | undefined;
  /**
   * The minimum time between two commits, in milliseconds; 0 commits at every cursor. Each commit ends
   * a gzip member, so a longer interval compresses better where outputs grow slowly.
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
 * Writes every item as a line of a file. During the run, a file is called `<name>.part`; at the end all
 * files are synced to disk and renamed, replacing finished files of the same names.
 *
 * Accepts activities, whose bytes are written unchanged; activities with a tag; bytes; and any JSON
 * value. Resolves to what was written, including the runs before a resume.
 *
 * @throws OptionError before any I/O.
 * @throws DataError for an item that cannot become a line or a path.
 * @throws StorageError for a full disk, more files than `maxOutputs`, a checkpoint that is damaged or of another flow, files shorter than it says.
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

/** `files` on another file system, so that a test can make the disk fail. */
export function filesOn<T>(fs: FileSystem, options: FilesOptions<T>): Sink<T, Written> {
  const plan = planOf(options);
  return async (input, run = {}) => {
    // Resolved once: the working folder may change or be deleted during the run.
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

/** The single output path, where it does not depend on the items. */
function onlyOutput<T>({ path: target }: Plan<T>): string | undefined {
  return typeof target !== 'function' && target.constant ? target.fill([]) : undefined;
}

const DEFAULT_LEVEL = 6;
const FLUSH_EVERY_MS = 1_000;
/** Memory of one output until the run ends: 600 bytes measured, more for long paths. */
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

  // A full disk ends the source immediately, also during a long wait.
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
  // Lines of a slow run become visible soon. Compressed files are not flushed: small blocks compress badly.
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
        `Expected \`path\` to differ from the checkpoint and its temporary and lock files, got ${JSON.stringify(file)}`,
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
