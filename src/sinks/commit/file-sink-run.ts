import { isBudgetSpent } from '../../base/errors.js';
import type { RowEncoding } from '../../files/encode-rows.js';
import type { Engine } from '../../files/engine.js';
import type { EngineBatch } from '../../files/rows.js';
import { batchesOf, type Cursor, type FlowStep, type Pull } from '../../flow/flow.js';
import type { Progress } from '../../flow/progress.js';
import type { FileSystem } from '../../storage/file-system.js';
import type { FileFormat } from '../write/format.js';
import type { NumberedFiles } from '../write/numbered-files.js';
import type { FileCounts } from '../write/output-file.js';
import { Outputs, type OutputsOptions, type SharedOptions } from '../write/outputs.js';
import { routeByFunction, withSuffix } from '../write/path-function.js';
import { pathKeys } from '../write/path-keys.js';
import {
  type PathField,
  type PathTemplate,
  type PickOutput,
  routeByTemplate,
} from '../write/path-template.js';
import { RowWriter } from '../write/row-writer.js';
import type { CallOnFile } from './call-on-file.js';
import type { Member } from './committer.js';
import type { DamagedLog } from './damaged-log.js';

export interface FileSinkConfig<T>
  extends Pick<OutputsOptions, 'compression' | 'maxBytes' | 'maxOpen' | 'maxOutputs'> {
  readonly settings: FlowStep;
  /**
   * Returns the format. Called when a run begins, so that the library of the format is loaded only if it is
   * needed.
   */
  readonly format: () => FileFormat<T> | Promise<FileFormat<T>>;
  readonly path: PathTemplate | ((item: T) => string);
  /** The suffix, such as `.gz`, to append to a name that a function returns without it. */
  readonly suffix: string;
  readonly checkpoint: string | undefined;
  /**
   * The minimum time between two commits in milliseconds. Absent if a commit is due only when files are full.
   */
  readonly commitIntervalMs: number | undefined;
  /**
   * Whether a function of the caller gets the items. The function may keep the items, so their memory is not
   * released.
   */
  readonly keepsItems: boolean;
  readonly workers?: number | undefined;
  readonly callOnFile?: CallOnFile | undefined;
  readonly damaged: string | undefined;
}

interface RunOptions extends SharedOptions, Pick<OutputsOptions, 'isInput'> {
  readonly progress: Progress | undefined;
  /** Whether the run has a checkpoint, and therefore commits. */
  readonly commits: boolean;
  /** The log for items that cannot be written. If absent, the first such item ends the run. */
  readonly damaged: DamagedLog | undefined;
  /** Reads stored files in worker threads, if the whole input can be read there. */
  readonly engine: Engine;
  readonly branch: number | undefined;
}

/** Returns the path of the only output file; `undefined` if the path depends on the items. */
export function onlyOutput<T>({ path: target }: FileSinkConfig<T>): string | undefined {
  return typeof target !== 'function' && target.constant ? target.fill([]) : undefined;
}

const FLUSH_EVERY_MS = 1_000;

export class FileSinkRun<T> implements Member {
  readonly outputs: Outputs;
  readonly branch: number | undefined;
  readonly everyMs: number | undefined;
  readonly callOnFile: CallOnFile | undefined;
  readonly #format: FileFormat<T>;
  readonly #config: FileSinkConfig<T>;
  readonly #engine: Engine;
  readonly #rows: RowWriter<T> | undefined;
  readonly #run: Pick<RunOptions, 'damaged' | 'progress'>;

  constructor(fs: FileSystem, config: FileSinkConfig<T>, format: FileFormat<T>, run: RunOptions) {
    const { engine, commits } = run;
    const { path, maxOpen } = config;
    const limit = commits ? format.wholeFiles?.committedBytes : undefined;
    const maxBytes = config.maxBytes ?? limit;
    this.branch = run.branch;
    this.everyMs = config.commitIntervalMs;
    this.callOnFile = config.callOnFile;
    this.#config = config;
    this.#format = format;
    this.#run = run;
    this.#engine = engine;
    this.outputs = new Outputs(
      fs,
      {
        ...config,
        ...run,
        maxBytes,
        only: onlyOutput(config),
        tasksFor: file => engine.tasksFor(file),
      },
      format,
    );
    const encoding = rowEncodingOf(config, format, maxBytes);
    const takesRows = encoding !== undefined && typeof path !== 'function';
    const keys = pathKeys(takesRows ? path.fields.filter(field => field !== 'tag') : []);
    const encodingNumber = engine.add({
      workers: config.workers,
      // If the main thread encodes whole files, as for Parquet, it needs the decoded posts. Decoding them in
      // other threads would not help.
      isHere: encoding === undefined && format.wholeFiles !== undefined,
      encoding,
      columns: takesRows ? [keys] : [],
    });
    if (takesRows)
      this.#rows = new RowWriter(this.outputs, {
        path,
        maxOpen,
        format,
        encoding,
        encodingNumber,
        keys,
      });
  }

  /**
   * Continues the output files of an earlier run. Files in `named` have their final names; all other files
   * are `.part` files.
   */
  async resume(files: readonly FileCounts[], named: ReadonlySet<FileCounts>): Promise<void> {
    this.outputs.resume(files, named);
    if (this.outputs.endsFiles) await this.outputs.nameFiles();
  }

  /**
   * Whether the sink accepts decoded files as rows. It then writes their posts without creating an item for
   * each post.
   */
  get takesRows(): boolean {
    return !this.#config.keepsItems && this.#rows !== undefined;
  }

  /**
   * Writes the items of a flow.
   *
   * @param reached Called with each cursor once the items before it are collected. If it returns a promise,
   * reading continues when the promise resolves.
   * @param spent Called with the last cursor if the source has spent its budget.
   * @returns The cursor after the last item. `null` if the flow had no items and no cursors. `undefined` if
   * items came after the last cursor.
   */
  async write(
    input: AsyncIterable<T>,
    pull: Pull,
    reached: (cursor: Cursor) => Promise<void> | undefined,
    spent: (cursor: Cursor) => Promise<void>,
  ): Promise<Cursor | null | undefined> {
    const { compression } = this.#config;
    const { outputs } = this;
    const route = this.#route();
    let end: Cursor | null | undefined = pull.resume ?? null;
    // If the items arrive slowly, uncompressed lines are flushed after a short time, so that they are visible
    // in the file. Compressed blocks and row groups are not flushed early, because small ones would make the
    // file larger.
    const watched =
      compression === undefined && !outputs.endsFiles
        ? setInterval(() => outputs.flush(), FLUSH_EVERY_MS).unref()
        : undefined;
    try {
      for await (const batch of this.#batches(input, pull)) {
        const { cursor, origin, rows } = batch;
        const isWritten = rows !== undefined && (await this.#rows?.write(rows, origin)) === true;
        if (!isWritten) {
          const items = rows === undefined ? batch.items : await rows.items();
          for (const item of items as readonly T[]) {
            try {
              route(item, origin).add(this.#format.encode(item, origin));
            } catch (error) {
              await this.#leaveOut(item, error, origin);
            }
            if (outputs.full) await outputs.relieve();
          }
          rows?.file.release();
        }
        await outputs.begin();
        const isEmpty = rows === undefined && batch.items.length === 0;
        if (cursor !== undefined || !isEmpty) end = cursor;
        if (cursor !== undefined) await reached(cursor);
        outputs.throwFailure();
      }
      return end;
    } catch (error) {
      if (isBudgetSpent(error) && end != null) await spent(end);
      throw error;
    } finally {
      clearInterval(watched);
    }
  }

  async close(): Promise<void> {
    await this.outputs.close();
  }

  /** Logs an item that cannot be written. @throws The error of the item, if there is no log. */
  async #leaveOut(item: T, error: unknown, origin: string | undefined): Promise<void> {
    const { damaged, progress } = this.#run;
    if (damaged === undefined) throw error;
    await damaged.keepItem(item, error, { origin, by: this });
    progress?.drop('damaged', 1);
  }

  #batches(input: AsyncIterable<T>, pull: Pull): AsyncIterable<EngineBatch> {
    return this.#config.keepsItems ? batchesOf(input, pull) : this.#engine.batches(input, pull);
  }

  #route(): PickOutput<T, NumberedFiles> {
    const { path: target, suffix } = this.#config;
    const open = (file: string) => this.outputs.open(file);
    if (typeof target !== 'function') return routeByTemplate(target, open);
    return routeByFunction(target, file => withSuffix(file, suffix), open);
  }
}

/**
 * Fields whose value differs in almost every post. If a path contains one of these fields, each stored file
 * adds only about one line to most outputs.
 */
const RARE: readonly PathField[] = ['author', 'id'];

/**
 * The smallest `maxBytes` at which threads encode blocks of rows for a format with `wholeFiles`. The size of
 * a block is known only after it is encoded, so a smaller file could far exceed its limit.
 */
const LARGE_FILE_BYTES = 16 << 20;

/**
 * Returns how threads encode posts. Returns `undefined` in three cases, in which the main thread must encode
 * them:
 * - A function of the caller creates the paths.
 * - Most outputs would get only a few lines of a stored file.
 * - Threads cannot encode the format within `maxBytes`.
 */
function rowEncodingOf<T>(
  { path, compression }: FileSinkConfig<T>,
  { rows, wholeFiles }: FileFormat<T>,
  maxBytes = Number.POSITIVE_INFINITY,
): RowEncoding | undefined {
  if (typeof path === 'function' || path.fields.some(field => RARE.includes(field)))
    return undefined;
  const least = wholeFiles === undefined ? Number.POSITIVE_INFINITY : LARGE_FILE_BYTES;
  return rows !== undefined && (maxBytes >= least || rows.kind === undefined)
    ? { ...rows, compression }
    : undefined;
}
