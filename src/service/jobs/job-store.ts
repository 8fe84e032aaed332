import { readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import pLimit, { type LimitFunction } from 'p-limit';
import { isNodeError, StorageError } from '../../base/errors.js';
import { SEGMENT } from '../../base/time.js';
import { isCount } from '../../json/type-guards.js';
import { makeSyncedFolder } from '../../storage/folder.js';
import { LineLog } from '../../storage/line-log.js';
import { type Lock, takeLock } from '../../storage/lock.js';
import { replaceFile } from '../../storage/replace-file.js';
import { withAnyStorageError, withStorageError } from '../../storage/storage-error.js';
import { getOrMake } from '../cache.js';
import { temporaryFolder } from '../temporary-folder.js';
import { type DataFile, type JobRecord, segmentPath } from './job-record.js';

const LIST = 'files.jsonl';

/**
 * Stores jobs on disk. The folder of a job has `job.json`, the list `files.jsonl`, and the files in `data`.
 * Every write is atomic and synced, so the process may be killed or the power may fail at any time.
 */
export class JobStore {
  readonly #stateFolder: string | undefined;
  #opened: Promise<string> | undefined;
  #lock: Lock | undefined;
  /** For each job, a queue that runs the writes of its record one after another. */
  readonly #turns = new Map<string, LimitFunction>();
  readonly #lists = new Map<string, LineLog<DataFile>>();
  /** The folders whose entries are already synced to disk. */
  readonly #folders = new Set<string>();

  /** @param stateFolder If undefined, a temporary folder is used, which `close` removes. */
  constructor(stateFolder: string | undefined) {
    this.#stateFolder = stateFolder;
  }

  /** Loads the stored jobs with their files, in the order of their creation. */
  async load(): Promise<readonly { readonly job: JobRecord; readonly files: DataFile[] }[]> {
    if (this.#stateFolder === undefined) return [];
    const folder = await this.#root();
    const found = [];
    for (const entry of await withAnyStorageError('read', folder, () => readdir(folder))) {
      const path = join(folder, entry, 'job.json');
      const text = await withAnyStorageError('read', path, () => textOf(path));
      if (text === undefined) {
        await this.#removeIncomplete(join(folder, entry));
        continue;
      }
      const job = parse(path, text) as JobRecord;
      found.push({ job, files: await this.#loadFiles(job) });
    }
    return found.sort((a, b) => a.job.number - b.job.number);
  }

  /** Saves a record. Resolves once the record is on disk. */
  save(job: JobRecord): Promise<void> {
    const inTurn = getOrMake(this.#turns, job.uuid, () => pLimit(1));
    return inTurn(async () => {
      const folder = await this.#jobFolder(job);
      await withStorageError('keep the job in', folder, async () => {
        await this.#makeFolder(folder);
        // A fixed name is safe, because this process holds the lock, and the writes for a job do not overlap.
        const aside = join(folder, 'job.json.part');
        await replaceFile(join(folder, 'job.json'), JSON.stringify(job), { aside });
      });
    });
  }

  /** Appends a file, which must already be written, to the job's list. Resolves once the list is on disk. */
  async addFile(job: JobRecord, file: DataFile): Promise<void> {
    const list = await this.#listOf(job);
    await withStorageError('write the list of files next to', await this.#jobFolder(job), () =>
      list.append(file),
    );
  }

  async dataFile(job: JobRecord, segment: number): Promise<string> {
    return join(await this.#jobFolder(job), 'data', segmentPath(segment));
  }

  /** Writes a file of a job, or replaces it. Resolves once the file is on disk. @throws StorageError */
  async writeDataFile(path: string, bytes: Uint8Array): Promise<void> {
    await withStorageError('write the data file', path, async () => {
      await this.#makeFolder(dirname(path));
      await replaceFile(path, bytes, { aside: `${path}.part` });
    });
  }

  /** Removes everything that belongs to a job, except for its record. */
  async removeFiles(job: JobRecord): Promise<void> {
    const folder = await this.#jobFolder(job);
    this.#lists.delete(job.uuid);
    for (const made of this.#folders) if (made.startsWith(folder)) this.#folders.delete(made);
    await rm(join(folder, LIST), { force: true });
    await rm(join(folder, 'data'), { recursive: true, force: true });
  }

  async remove(job: JobRecord): Promise<void> {
    await this.#turns.get(job.uuid)?.(() => {});
    this.#turns.delete(job.uuid);
    await this.removeFiles(job);
    await rm(await this.#jobFolder(job), { recursive: true, force: true });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#turns.values()].map(inTurn => inTurn(() => {})));
    if (this.#stateFolder === undefined && this.#opened !== undefined)
      await rm(await this.#opened, { recursive: true, force: true });
    this.#opened = undefined;
    await this.#lock?.release();
    this.#lock = undefined;
  }

  /**
   * Removes the folder of a job if it is empty or has only `job.json.part`. Such a folder remains if the
   * service is killed before it has written `job.json`.
   */
  async #removeIncomplete(folder: string): Promise<void> {
    const names = await readdir(folder).catch(() => undefined); // not a folder, so not a job's
    if (names?.every(name => name === 'job.json.part')) await rm(folder, { recursive: true });
  }

  async #loadFiles(job: JobRecord): Promise<DataFile[]> {
    const list = await this.#listOf(job);
    const path = join(await this.#jobFolder(job), LIST);
    // Each line of the list describes one data file. If a crash has truncated the last line, `read` removes
    // it, and the job writes the data file of that line again.
    return withAnyStorageError('read', path, async () => {
      const files = await list.read().catch(cause => {
        throw cause instanceof SyntaxError ? damaged(path, cause) : cause;
      });
      if (!files.every(file => isDataFile(file, job))) throw damaged(path);
      return files;
    });
  }

  async #listOf(job: JobRecord): Promise<LineLog<DataFile>> {
    const path = join(await this.#jobFolder(job), LIST);
    return getOrMake(this.#lists, job.uuid, () => new LineLog(path));
  }

  async #makeFolder(folder: string): Promise<void> {
    if (this.#folders.has(folder)) return;
    await makeSyncedFolder(folder);
    this.#folders.add(folder);
  }

  async #jobFolder({ uuid }: JobRecord): Promise<string> {
    return join(await this.#root(), uuid);
  }

  #root(): Promise<string> {
    this.#opened ??= this.#openRoot().catch(error => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  async #openRoot(): Promise<string> {
    if (this.#stateFolder === undefined) return temporaryFolder('jobs');
    const folder = join(this.#stateFolder, 'jobs');
    await withStorageError('keep jobs in', folder, () => makeSyncedFolder(folder));
    this.#lock = await takeLock(join(folder, 'service.lock'), {
      refusal: `Another service keeps its jobs in ${folder}; stop it, or choose another state folder`,
    });
    return folder;
  }
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (isNodeError(error, 'ENOENT') || isNodeError(error, 'ENOTDIR')) return undefined;
    throw error;
  }
}

function parse(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw damaged(path, cause);
  }
}

function isDataFile(value: unknown, { from, to }: JobRecord): boolean {
  const { segment, posts, bytes, md5 } = Object(value) as Partial<Record<keyof DataFile, unknown>>;
  return (
    isCount(segment) &&
    segment % SEGMENT === 0 &&
    segment + SEGMENT > from &&
    segment < to &&
    isCount(posts) &&
    isCount(bytes) &&
    /^[0-9a-f]{32}$/.test(String(md5))
  );
}

function damaged(path: string, cause?: unknown): StorageError {
  return new StorageError(
    `${path} was damaged or changed since the service wrote it. Delete the file, or its folder`,
    {
      path,
      cause,
    },
  );
}
