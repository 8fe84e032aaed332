import path from 'node:path';
import pLimit from 'p-limit';
import { StorageError } from '../../errors.js';
import type { Progress } from '../../flow/progress.js';
import { type FileSystem, makeFolder, writeAll } from '../../storage/file-system.js';
import { type Lock, takeLock } from '../../storage/lock.js';
import { regularStatus } from '../../storage/regular-file.js';
import { storageError } from '../../storage/storage-error.js';
import { syncFolder } from '../../storage/sync-folder.js';
import { Buffers } from './buffers.js';
import { type Format, isEncoded } from './format.js';
import { OpenFiles } from './open-files.js';
import {
  EncodedFile,
  type FileCounts,
  type OutputFile,
  PART,
  RecordFile,
  type Writer,
} from './output-file.js';

export interface OutputsOptions<T> {
  readonly format: Format<T>;
  /** Compresses a block so that it can be decompressed by itself. */
  readonly compress: ((block: Uint8Array) => Promise<Uint8Array>) | undefined;
  /** Of records, before compression. */
  readonly maxBytes: number | undefined;
  readonly maxOpen: number;
  readonly maxOutputs: number;
  readonly progress: Progress | undefined;
  /** The folder that relative paths start from. */
  readonly folder: string;
  /** The single path of all items, if there is one: it is locked against other runs. */
  readonly only: string | undefined;
  /** Paths that no output may have. */
  readonly reserved: readonly string[];
  /** The outputs of all sinks that run together, by absolute path: two must not write one file. */
  readonly claims: Map<string, unknown>;
  /** Advice for the message of a failure. */
  afterFailure(): string;
  onFailure(error: unknown): void;
}

/** The output of one path: one file, or several in turn where their size is limited. */
export interface Output<T> {
  add(item: T, origin: string | undefined): void;
  /** The file that a record of this size goes to; its place is not reserved yet. Only for records. */
  fileFor(byteLength: number): RecordFile<T>;
}

type WriteElsewhere = (
  fds: readonly number[],
) => Promise<{ readonly index: number; readonly error: Error } | undefined>;

/** Records of one file whose places are reserved, next to each other. */
export interface Reserved<T> {
  readonly file: RecordFile<T>;
  readonly position: number;
  readonly bytes: number;
  readonly posts: number;
}

/** More writes than this at a time do not make a disk faster. */
const WRITES_AT_A_TIME = 8;
const SHORTEST_NUMBER = 4;
const STEM = /^(.*?[^/\\])((?:\.[^./\\]+)?(?:\.(?:gz|zst))?)$/s;
/** Marks an output whose name is reserved for the checkpoint or a lock; `safeName` never produces it. */
const APART = '%=';

/** All output files of a run. They share memory, the limit of open files, and the first failure. */
export class Outputs<T> implements Writer {
  readonly buffers: Buffers;
  readonly #fs: FileSystem;
  readonly #options: OutputsOptions<T>;
  readonly #openFiles: OpenFiles;
  readonly #limit;
  readonly #reserved: ReadonlySet<string>;
  /** By absolute path, in the order of their creation. */
  readonly #files = new Map<string, OutputFile>();
  #changed = new Set<OutputFile>();
  #filled = false;
  readonly #folders = new Map<string, Promise<void>>();
  #changedFolders = new Set<string>();
  #lock: Promise<Lock> | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(fs: FileSystem, options: OutputsOptions<T>) {
    const { format } = options;
    this.#fs = fs;
    this.#options = options;
    this.buffers = new Buffers(isEncoded(format) ? format.maxHeldBytes : undefined);
    this.#openFiles = new OpenFiles(fs, options.maxOpen);
    this.#limit = pLimit(Math.min(options.maxOpen, WRITES_AT_A_TIME));
    this.#reserved = new Set(options.reserved.map(file => this.#keyOf(file)));
  }

  /** Resumes the files of an earlier run; all but those in `named` are parts as long as `counts` says. */
  resume(counts: readonly FileCounts[], named: ReadonlySet<FileCounts>): void {
    for (const before of counts) {
      const file = this.#newFile(before.path, before);
      file.named = named.has(before);
      this.#files.set(this.#claim(before.path), file);
    }
  }

  open(file: string): Output<T> {
    const { format, maxBytes } = this.#options;
    if (maxBytes === undefined) {
      const only = this.#fileAt(file) as RecordFile<T> | EncodedFile<T>;
      return {
        add: (item, origin) => only.add(item, origin),
        fileFor: () => only as RecordFile<T>,
      };
    }
    let number = 1;
    while (this.#has(numberedName(file, number + 1))) number++;
    if (!isEncoded(format)) {
      let current = this.#fileAt(numberedName(file, number)) as RecordFile<T>;
      const fileFor = (byteLength: number) => {
        while (current.lineBytes > 0 && current.lineBytes + byteLength + 1 > maxBytes) {
          current.flush();
          current = this.#fileAt(numberedName(file, ++number)) as RecordFile<T>;
        }
        return current;
      };
      return {
        add: (item, origin) => {
          const record = format.encode(item, origin);
          fileFor(record.byteLength).addRecord(record);
        },
        fileFor,
      };
    }
    // A file that was there before is finished.
    if (!this.#has(numberedName(file, number))) number--;
    let current: EncodedFile<T> | undefined;
    return {
      add: (item, origin) => {
        if (current === undefined || current.ended)
          current = this.#fileAt(numberedName(file, ++number)) as EncodedFile<T>;
        current.add(item, origin);
        if (current.lineBytes < maxBytes) return;
        current.end();
        this.#filled = true;
      },
      fileFor: () => {
        throw new Error('An encoder builds the file');
      },
    };
  }

  /**
   * Lets another thread write records in reserved places, of at most `maxOpen` different files. Resolves when
   * they are written, or the run has failed.
   *
   * @param write Gets the number of each open file, and returns which could not be written.
   */
  async fill(places: readonly Reserved<T>[], write: WriteElsewhere): Promise<void> {
    const written = this.#fill(places, write).then(
      () => true,
      error => {
        this.fail(error);
        return false;
      },
    );
    for (const { file, posts, bytes } of places) file.fill(posts, bytes, written);
    await written;
  }

  /** Whether each commit ends all files. */
  get endsFiles(): boolean {
    return isEncoded(this.#options.format);
  }

  /** Whether all files can be committed as they are. */
  get isWhole(): boolean {
    return !isEncoded(this.#options.format) || this.#changed.size === 0;
  }

  /** Whether a file has ended since the last `settle` because it was full. */
  get filled(): boolean {
    return this.#filled;
  }

  /** Queues all collected items for writing. */
  flush(): void {
    for (const file of this.#changed) file.flush();
  }

  /** Writes collected items and waits until memory is free again. */
  async relieve(): Promise<void> {
    if (isEncoded(this.#options.format)) this.#flushLargest();
    else this.flush();
    await this.buffers.relief();
    this.throwFailure();
  }

  /**
   * The counts of the files that changed since the last call, once all items up to now are on disk. Encoded
   * files end here.
   */
  async settle(): Promise<FileCounts[]> {
    this.#filled = false;
    for (const file of this.#changed) if (file instanceof EncodedFile) file.end();
    const settling = Array.from(this.#changed, file => file.settle());
    this.#changed = new Set();
    const counts: FileCounts[] = [];
    for (const one of settling) counts.push(await one);
    this.throwFailure();
    return counts;
  }

  /** Syncs these files and all new names to disk. */
  async sync(counts: readonly FileCounts[]): Promise<void> {
    await this.#each(counts, ({ path: file }) =>
      this.#guard('write', file + PART, async () => {
        await this.#openFiles.use({ part: file + PART, fresh: false }, open => open.datasync());
        await this.#checkPart(this.#fileAt(file));
      }),
    );
    await this.#syncFolders();
  }

  /** Renames the files to their final names, once all items are on disk. */
  async nameFiles(): Promise<void> {
    // Encoded files that have begun since the last `settle` are not finished.
    const files = [...this.#files.values()].filter(file => !file.named && !this.#isOpen(file));
    await this.#each(files, file =>
      this.#guard('write', file.part, async () => {
        await this.#openFiles.close(file.part);
        await this.#checkPart(file);
      }),
    );
    await this.#each(files, async file => {
      await this.#guard('finish', file.path, async () => {
        await this.#checkPart(file);
        await regularStatus(this.#fs, file.path);
        await this.#fs.rename(file.part, file.path);
        file.named = true;
      });
      this.#changedFolders.add(path.dirname(file.path));
    });
    await this.#syncFolders();
  }

  /** Ends all writing and closes all files. Items that are not written yet are discarded. */
  async close(): Promise<void> {
    this.#failure ??= { error: new Error('The outputs are closed') };
    this.buffers.release();
    for (const file of this.#files.values()) await file.idle();
    await this.#openFiles.abandon();
    const lock = await this.#lock?.catch(() => undefined);
    await lock?.release();
  }

  /** Locks the single output against other runs. Where there are many, each part is checked instead. */
  async lock(): Promise<void> {
    const { only } = this.#options;
    if (only === undefined) return;
    this.#lock ??= this.#folder(path.dirname(only)).then(() =>
      takeLock(`${only}${PART}.lock`, { fs: this.#fs, refusal: `Another run writes ${only}` }),
    );
    await this.#lock;
  }

  changed(file: OutputFile): void {
    this.#changed.add(file);
  }

  get compresses(): boolean {
    return this.#options.compress !== undefined;
  }

  async append(
    file: OutputFile,
    block: Uint8Array,
    posts: number,
    position = file.bytes,
  ): Promise<number> {
    return this.#limit(async () => {
      this.throwFailure();
      const { compress, progress } = this.#options;
      // Each block is a gzip member or a zstd frame: truncated to any committed length, the file is whole.
      const bytes = compress === undefined ? block : await compress(block);
      await this.#guard('write', file.part, async () => {
        await this.#prepare(file);
        await this.#openFiles.use(file, open => {
          this.#begun(file);
          return writeAll(open, bytes, position);
        });
        if (file.ino === 0) await this.#checkPart(file, position + bytes.length);
      });
      if (progress !== undefined) {
        progress.written += posts;
        progress.writtenBytes += bytes.length;
      }
      return bytes.length;
    });
  }

  async #fill(places: readonly Reserved<T>[], write: WriteElsewhere): Promise<void> {
    this.throwFailure();
    const { progress } = this.#options;
    const partOf = (index: number) => (places[index] as Reserved<T>).file.part;
    for (const [index, { file }] of places.entries())
      await this.#guard('write', partOf(index), () => this.#prepare(file));
    const files = places.map(({ file }) => file);
    await this.#openFiles.useAll(files, async open => {
      this.throwFailure();
      for (const { file } of places) this.#begun(file);
      const failed = await write(open.map(({ fd }) => fd as number));
      if (failed === undefined) return;
      await this.#guard('write', partOf(failed.index), () => Promise.reject(failed.error));
    });
    for (const { file, position, bytes } of places)
      if (file.ino === 0)
        await this.#guard('write', file.part, () => this.#checkPart(file, position + bytes));
    if (progress === undefined) return;
    for (const { posts, bytes } of places) {
      progress.written += posts;
      progress.writtenBytes += bytes;
    }
  }

  async #prepare(file: OutputFile): Promise<void> {
    await this.lock();
    if (!file.fresh) return;
    await this.#folder(path.dirname(file.path));
    await regularStatus(this.#fs, file.path);
  }

  /** The file is open and has its name. */
  #begun(file: OutputFile): void {
    if (file.fresh) this.#changedFolders.add(path.dirname(file.path));
    file.fresh = false;
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

  /** The failure of a file that ended the run. */
  get failure(): unknown {
    return this.#failure?.error;
  }

  throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  #fileAt(wanted: string): OutputFile {
    const isOurs = this.#reserved.has(this.#keyOf(wanted)) || /\.part$/i.test(wanted);
    const file = isOurs ? toldApart(wanted) : wanted;
    const key = this.#keyOf(file);
    let found = this.#files.get(key);
    if (found === undefined) {
      const { maxOutputs } = this.#options;
      if (this.#files.size >= maxOutputs)
        throw new StorageError(
          `Cannot begin ${file}: the run has ${maxOutputs} files, and memory grows with each. Choose a \`path\` with fewer files, or raise \`maxOutputs\` (and the heap's limit, node --max-old-space-size)`,
          { path: file },
        );
      found = this.#newFile(file);
      this.#files.set(this.#claim(file), found);
    }
    return found;
  }

  #newFile(file: string, before?: FileCounts): OutputFile {
    const { format } = this.#options;
    return isEncoded(format)
      ? new EncodedFile(file, this, format, before)
      : new RecordFile(file, this, format, before);
  }

  /** @returns The key of the file. */
  #claim(file: string): string {
    const key = this.#keyOf(file);
    const { claims } = this.#options;
    const claimed = claims.get(key);
    if (claimed !== undefined && claimed !== this)
      throw new StorageError(
        `Two branches of tee() write ${file}. Choose a \`path\` for each that the other cannot have`,
        { path: file },
      );
    claims.set(key, this);
    return key;
  }

  #has(file: string): boolean {
    return this.#files.has(this.#keyOf(file));
  }

  #isOpen(file: OutputFile): boolean {
    return file instanceof EncodedFile && (!file.ended || this.#changed.has(file));
  }

  /** Flushes the files that hold the most. */
  #flushLargest(): void {
    const files = [...this.#changed].filter(file => file instanceof EncodedFile);
    files.sort((a, b) => b.heldBytes - a.heldBytes);
    let rest = files.reduce((sum, file) => sum + file.heldBytes, 0);
    for (const file of files) {
      if (rest <= this.buffers.half) break;
      rest -= file.heldBytes;
      file.flush();
    }
  }

  #keyOf(file: string): string {
    return path.resolve(this.#options.folder, file);
  }

  /** Checks that the part is the file that this run created, with the length that it wrote. */
  async #checkPart(file: OutputFile, bytes = file.bytes): Promise<void> {
    const status = await regularStatus(this.#fs, file.part);
    if (file.ino === 0) file.ino = status?.ino ?? 0;
    if (status === undefined || status.ino !== file.ino || status.size < bytes)
      throw new StorageError(
        `Could not go on with ${file.part}: another process replaced, removed or cut it. Let only one run at a time write there, and run again`,
        { path: file.part },
      );
  }

  #folder(folder: string): Promise<void> {
    let made = this.#folders.get(folder);
    if (made === undefined) {
      made = makeFolder(this.#fs, this.#keyOf(folder)).then(above => {
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
    // Keeping a promise for each of many thousands of files would take more memory than the files.
    const rest = list.values();
    const failures: unknown[] = [];
    const worker = async () => {
      for (const item of rest) {
        if (failures.length > 0) return;
        await this.#limit(() => work(item)).catch(error => failures.push(error));
      }
    };
    await Promise.all(Array.from({ length: WRITES_AT_A_TIME }, worker));
    if (failures.length > 0) throw failures[0];
  }

  async #guard<T>(doing: string, file: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw storageError(doing, file, error, this.#options.afterFailure());
    }
  }
}

/** `out/run.json` → `out/run%=.json` */
function toldApart(file: string): string {
  if (/\.part$/i.test(file)) return file + APART;
  const [, stem = file, extension = ''] = STEM.exec(file) ?? [];
  return stem + APART + extension;
}

/** `out/snow.jsonl.gz`, 2 → `out/snow.0002.jsonl.gz`. */
function numberedName(file: string, number: number): string {
  const [, stem = file, extension = ''] = STEM.exec(file) ?? [];
  return `${stem}.${String(number).padStart(SHORTEST_NUMBER, '0')}${extension}`;
}
