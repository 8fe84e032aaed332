import path from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import pLimit from 'p-limit';
import { DataError, StorageError } from '../errors.js';
import type { Progress } from '../progress.js';
import { type FileSystem, makeFolder, statusOf, writeAll } from '../storage/file-system.js';
import { storageError } from '../storage/storage-error.js';
import { syncFolder } from '../storage/sync-folder.js';
import { Buffers } from './buffers.js';
import type { Line } from './line.js';
import { OpenFiles } from './open-files.js';
import { type FileCounts, OutputFile, PART, type Writer } from './output-file.js';

export interface OutputsOptions {
  /** Of gzip; plain files when absent. */
  readonly level: number | undefined;
  /** Of lines, before compression. */
  readonly maxBytes: number | undefined;
  readonly maxOpen: number;
  readonly progress: Progress | undefined;
  /** Paths that no output may have. */
  readonly reserved: readonly string[];
  /** What becomes of the run after a failure, for its message. */
  readonly afterFailure: string;
  onFailure(error: unknown): void;
}

/** Where lines of one path go: one file, or one after the other where their size is limited. */
export interface Output {
  add(line: Line): void;
}

const compress = promisify(gzip);
/** More writes than this at a time do not make a disk faster. */
const WRITES_AT_A_TIME = 8;
const SHORTEST_NUMBER = 4;

/** All files of a run: what they have in common is memory, open files, and their fate. */
export class Outputs implements Writer {
  readonly buffers = new Buffers();
  readonly #fs: FileSystem;
  readonly #options: OutputsOptions;
  readonly #openFiles: OpenFiles;
  readonly #limit;
  readonly #reserved: ReadonlySet<string>;
  /** By absolute path, in the order in which they were begun. */
  readonly #files = new Map<string, OutputFile>();
  #changed = new Set<OutputFile>();
  readonly #folders = new Map<string, Promise<void>>();
  #changedFolders = new Set<string>();
  #failure: { readonly error: unknown } | undefined;

  constructor(fs: FileSystem, options: OutputsOptions) {
    this.#fs = fs;
    this.#options = options;
    this.#openFiles = new OpenFiles(fs, options.maxOpen);
    this.#limit = pLimit(Math.min(options.maxOpen, WRITES_AT_A_TIME));
    this.#reserved = new Set(options.reserved.map(file => path.resolve(file)));
  }

  /** Takes up the files of an earlier run, whose parts are as long as `counts` says. */
  resume(counts: readonly FileCounts[]): void {
    for (const file of counts)
      this.#files.set(path.resolve(file.path), new OutputFile(file.path, this, file));
  }

  open(file: string): Output {
    const { maxBytes } = this.#options;
    if (maxBytes === undefined) return this.#fileAt(file);
    let number = 1;
    while (this.#files.has(path.resolve(numbered(file, number + 1)))) number++;
    let current = this.#fileAt(numbered(file, number));
    return {
      add: line => {
        while (current.lineBytes > 0 && current.lineBytes + line.byteLength + 1 > maxBytes) {
          current.flush();
          current = this.#fileAt(numbered(file, ++number));
        }
        current.add(line);
      },
    };
  }

  /** Sends all that is gathered on its way. */
  flush(): void {
    for (const file of this.#changed) file.flush();
  }

  /** Writes what is gathered and waits until memory is free again. */
  async relieve(): Promise<void> {
    this.flush();
    await this.buffers.relief();
    this.throwFailure();
  }

  /** The counts of the files that changed since the last call, once all lines up to now are on disk. */
  async settle(): Promise<FileCounts[]> {
    const changed = [...this.#changed];
    this.#changed = new Set();
    const counts = await Promise.all(changed.map(file => file.settle()));
    this.throwFailure();
    return counts;
  }

  /** Makes these files, and all new names, survive a power cut. */
  async sync(counts: readonly FileCounts[]): Promise<void> {
    await this.#each(counts, ({ path: file }) =>
      this.#guard('write', file + PART, () =>
        this.#openFiles.use(file + PART, 'r+', open => open.datasync()),
      ),
    );
    await this.#syncFolders();
  }

  /** Ends a run that has no checkpoint. */
  async finish(): Promise<FileCounts[]> {
    const counts = await this.settle();
    await this.sync(counts);
    await this.nameFiles();
    return counts;
  }

  /** Gives the files their names, once all lines are safe. */
  async nameFiles(): Promise<void> {
    const files = [...this.#files.values()];
    await this.#each(files, ({ part, bytes }) =>
      this.#guard('write', part, async () => {
        await this.#openFiles.close(part);
        const size = (await statusOf(this.#fs, part))?.size;
        if (size !== bytes)
          throw new StorageError(
            `Could not finish ${part}: it has ${size ?? 'no'} bytes, but ${bytes} were written. Something else changed it; delete it and run again.`,
            { path: part },
          );
      }),
    );
    await this.#each(files, async ({ path: file, part }) => {
      await this.#guard('finish', file, () => this.#fs.rename(part, file));
      this.#changedFolders.add(path.dirname(file));
    });
    await this.#syncFolders();
  }

  /** Ends all writing and closes all files. What is only gathered is given up. */
  async close(): Promise<void> {
    this.#failure ??= { error: new Error('The outputs are closed') };
    this.buffers.release();
    await Promise.all([...this.#files.values()].map(file => file.settle()));
    await this.#openFiles.abandon();
  }

  changed(file: OutputFile): void {
    this.#changed.add(file);
  }

  async append(file: OutputFile, lines: Buffer, posts: number): Promise<number> {
    return this.#limit(async () => {
      this.throwFailure();
      const { level, progress } = this.#options;
      // A member of its own for every piece: the file is whole gzip wherever it is cut back to.
      const bytes = level === undefined ? lines : await compress(lines, gzipOptions(level, lines));
      await this.#guard('write', file.part, async () => {
        if (file.fresh) await this.#folder(path.dirname(file.path));
        await this.#openFiles.use(file.part, file.fresh ? 'w' : 'r+', open => {
          if (file.fresh) this.#changedFolders.add(path.dirname(file.path));
          file.fresh = false;
          return writeAll(open, bytes, file.bytes);
        });
      });
      if (progress !== undefined) {
        progress.written += posts;
        progress.writtenBytes += bytes.length;
      }
      return bytes.length;
    });
  }

  fail(error: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = { error };
    this.buffers.release();
    this.#options.onFailure(error);
  }

  get full(): boolean {
    return this.buffers.full;
  }

  /** What ended the run, if that was a file of ours. */
  get failure(): unknown {
    return this.#failure?.error;
  }

  throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  #fileAt(file: string): OutputFile {
    const key = path.resolve(file);
    let found = this.#files.get(key);
    if (found === undefined) {
      if (this.#reserved.has(key) || file.endsWith(PART))
        throw new DataError(
          `Cannot write posts to ${file}: files() keeps that name for itself. Choose another \`path\``,
        );
      found = new OutputFile(file, this);
      this.#files.set(key, found);
    }
    return found;
  }

  #folder(folder: string): Promise<void> {
    let made = this.#folders.get(folder);
    if (made === undefined) {
      made = makeFolder(this.#fs, folder).then(above => {
        for (const parent of above) this.#changedFolders.add(parent);
      });
      this.#folders.set(folder, made);
    }
    return made;
  }

  async #syncFolders(): Promise<void> {
    const folders = [...this.#changedFolders];
    this.#changedFolders = new Set();
    await this.#each(folders, folder =>
      this.#guard('write', folder, () => syncFolder(folder, this.#fs)),
    );
  }

  async #each<T>(list: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
    await Promise.all(list.map(item => this.#limit(() => work(item))));
  }

  async #guard<T>(doing: string, file: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw storageError(doing, file, error, this.#options.afterFailure);
    }
  }
}

/** `out/snow.jsonl.gz`, 2 → `out/snow.0002.jsonl.gz`. */
function numbered(file: string, number: number): string {
  const [, stem = file, extension = ''] =
    /^(.*?[^/\\])((?:\.[^./\\]+)?(?:\.gz)?)$/s.exec(file) ?? [];
  return `${stem}.${String(number).padStart(SHORTEST_NUMBER, '0')}${extension}`;
}

function gzipOptions(level: number, lines: Buffer): { level: number; chunkSize: number } {
  // One piece of work for the thread pool, not one for every 16 KiB that come out.
  return { level, chunkSize: Math.max(16 << 10, lines.length >> 1) };
}
