import type { Cursor, FlowStep, Pull } from '../../flow/flow.js';
import { batchesOf } from '../../flow/flow.js';
import { type InternalBatches, internalBatchesOf } from '../../flow/internal-flow.js';
import type { Progress } from '../../flow/progress.js';
import { Scan, type ScanOptions } from '../../scan/scan.js';
import type { FileSystem } from '../../storage/file-system.js';
import { EncodedOutputs } from './encoded-outputs.js';
import { type Format, isEncoded } from './format.js';
import type { Output, Outputs } from './outputs.js';
import type { PathField, PathTemplate } from './path-template.js';
import { RecordOutputs } from './record-outputs.js';
import { type Route, routeByFunction, routeByTemplate } from './routes.js';
import { fetchItems, ScannedLines } from './scanned-lines.js';

/** A sink that writes files: its options, checked, and its format. */
export interface FileSinkPlan<T> {
  /** The name of the sink, and the options that the contents of the files depend on. */
  readonly settings: FlowStep;
  /** Called as a run begins: a format may load the library that it needs. */
  readonly format: () => Format<T> | Promise<Format<T>>;
  readonly path: PathTemplate | ((item: T) => string);
  /** Appended to the names that a function returns, where they lack it: `.gz`. */
  readonly suffix: string;
  readonly checkpoint: string | undefined;
  /** The minimum time between two commits. Absent where files are committed only when they are full. */
  readonly commitIntervalMs: number | undefined;
  /** Compresses a block of records so that it can be decompressed by itself. */
  readonly compress: ((block: Uint8Array) => Promise<Uint8Array>) | undefined;
  readonly maxBytes: number | undefined;
  readonly maxOpen: number;
  readonly maxOutputs: number;
  /** Whether a function of the caller sees the items: it may keep them, so their memory is not released. */
  readonly keepsItems: boolean;
  /** The number of threads that scan stored files and write their posts, where such threads can do so. */
  readonly scan?: ScanOptions | undefined;
}

/** What all writers of a run share. */
export interface Shared {
  readonly progress: Progress | undefined;
  /** Whether there is a checkpoint. */
  readonly commits: boolean;
  /** The folder that relative paths start from. */
  readonly folder: string;
  /** Paths that no output may have. */
  readonly reserved: readonly string[];
  /** Which outputs write which file, by absolute path. */
  readonly claims: Map<string, unknown>;
  /** Advice for the message of a failure. */
  afterFailure(): string;
  onFailure(error: unknown): void;
}

/** The single output path, where it does not depend on the items. */
export function onlyOutput<T>({ path: target }: FileSinkPlan<T>): string | undefined {
  return typeof target !== 'function' && target.constant ? target.fill([]) : undefined;
}

const FLUSH_EVERY_MS = 1_000;

/** One run of a file sink. The committer decides when it is committed. */
export class FileWriter<T> {
  readonly outputs: Outputs<T>;
  readonly #plan: FileSinkPlan<T>;
  readonly #format: Format<T>;
  readonly #scan: Scan | undefined;
  readonly #lines: ScannedLines<T> | undefined;

  constructor(fs: FileSystem, plan: FileSinkPlan<T>, format: Format<T>, shared: Shared) {
    this.#plan = plan;
    this.#format = format;
    this.#scan = scanOf(plan);
    const { path, maxOpen } = plan;
    const options = { ...plan, ...shared, only: onlyOutput(plan) };
    if (isEncoded(format)) {
      const maxBytes = plan.maxBytes ?? (shared.commits ? format.committedBytes : undefined);
      this.outputs = new EncodedOutputs(fs, { ...options, maxBytes }, format);
    } else {
      const outputs = new RecordOutputs(fs, options, format);
      this.outputs = outputs;
      if (typeof path !== 'function') this.#lines = new ScannedLines(outputs, path, maxOpen);
    }
  }

  /**
   * Writes the items of a flow.
   *
   * @param reached Called with each cursor, once the items before it are collected. The next items come
   * when it has ended.
   */
  async write(
    input: AsyncIterable<T>,
    pull: Pull,
    reached: (cursor: Cursor) => Promise<void>,
  ): Promise<void> {
    const { keepsItems, compress } = this.#plan;
    const { outputs } = this;
    const route = this.#route();
    // Lines of a slow run become visible soon. Small compressed blocks and row groups would be a waste.
    const watched =
      compress === undefined && !isEncoded(this.#format)
        ? setInterval(() => outputs.flush(), FLUSH_EVERY_MS).unref()
        : undefined;
    try {
      const batches: InternalBatches<T> = keepsItems
        ? batchesOf(input, pull)
        : internalBatchesOf(input, pull, { releases: true, scan: this.#scan });
      for await (const { items, cursor, origin, release, scanned } of batches) {
        const isQueued =
          scanned !== undefined && this.#lines?.write(scanned, origin, () => release?.());
        const rest = isQueued || scanned === undefined ? items : await fetchItems(scanned);
        for (const item of rest as readonly T[]) {
          route(item, origin).add(item, origin);
          if (outputs.full) await outputs.relieve();
        }
        await outputs.begin();
        if (!isQueued) release?.();
        if (cursor !== undefined) await reached(cursor);
        outputs.throwFailure();
      }
    } finally {
      clearInterval(watched);
    }
  }

  /** Ends all writing and closes all files. */
  async close(): Promise<void> {
    await this.#scan?.close();
    await this.outputs.close();
  }

  #route(): Route<T, Output<T>> {
    const { path: target, suffix } = this.#plan;
    const open = (file: string) => this.outputs.open(file);
    if (typeof target !== 'function') return routeByTemplate(target, open);
    return routeByFunction(target, file => withSuffix(file, suffix), open);
  }
}

/** Fields whose value differs from post to post: with these, most outputs get one line from each stored file. */
const RARE: readonly PathField[] = ['author', 'id'];

function scanOf<T>({ scan, path, compress }: FileSinkPlan<T>): Scan | undefined {
  if (scan === undefined || compress !== undefined || typeof path === 'function') return undefined;
  if (path.fields.some(field => RARE.includes(field))) return undefined;
  const keys = path.fields.filter(field => field !== 'tag');
  return Scan.open(scan)?.with({ keys });
}

/** `x.jsonl`, `.gz` → `x.jsonl.gz` */
export function withSuffix(file: string, suffix: string): string {
  return file.toLowerCase().endsWith(suffix) ? file : file + suffix;
}
