import { appendFile, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { StorageError } from '../../errors.js';
import { type Lock, takeLock } from '../../storage/lock.js';
import { replaceFile } from '../../storage/replace-file.js';
import { temporaryFolder } from '../temporary-folder.js';
import { segmentPath } from './data-urls.js';
import type { DataFile, Job } from './job.js';

/**
 * Jobs on disk, a folder each: `job.json`, the list `files.jsonl`, and the files in `data`. Every
 * write is atomic, so the process may be killed at any moment.
 */
export class JobStore {
  readonly #stateFolder: string | undefined;
  #opened: Promise<string> | undefined;
  #lock: Lock | undefined;
  /** The last write of each job's record; writes of one job are serialized. */
  readonly #writing = new Map<string, Promise<void>>();

  /** @param stateFolder If undefined, a temporary folder, which `close` removes. */
  constructor(stateFolder: string | undefined) {
    this.#stateFolder = stateFolder;
  }

  /** The stored jobs with their files, in order of creation. */
  async load(): Promise<readonly { readonly job: Job; readonly files: DataFile[] }[]> {
    if (this.#stateFolder === undefined) return [];
    const folder = await this.#root();
    const found = [];
    for (const entry of await reading(folder, () => readdir(folder))) {
      const path = join(folder, entry, 'job.json');
      const text = await reading(path, () => textOf(path));
      if (text === undefined) {
        await this.#removeIncomplete(join(folder, entry));
        continue;
      }
      const job = parse(path, text) as Job;
      found.push({ job, files: await this.#loadFiles(job) });
    }
    return found.sort((a, b) => a.job.number - b.job.number);
  }

  /** Resolves once the record is on disk. */
  save(job: Job): Promise<void> {
    const write = async () => {
      const folder = await this.#jobFolder(job);
      await mkdir(folder, { recursive: true });
      // A fixed name is safe: this process holds the lock, and writes of a job are serialized.
      const aside = join(folder, 'job.json.part');
      await replaceFile(join(folder, 'job.json'), JSON.stringify(job), { aside });
    };
    const saved = (this.#writing.get(job.uuid) ?? Promise.resolve()).then(write);
    const settled = saved
      .catch(() => {})
      .then(() => {
        if (this.#writing.get(job.uuid) === settled) this.#writing.delete(job.uuid);
      });
    this.#writing.set(job.uuid, settled);
    return saved;
  }

  /** Appends a file, which is already written, to the job's list. */
  async addFile(job: Job, file: DataFile): Promise<void> {
    await appendFile(join(await this.#jobFolder(job), 'files.jsonl'), `${JSON.stringify(file)}\n`);
  }

  async dataFile(job: Job, segment: number): Promise<string> {
    return join(await this.#jobFolder(job), 'data', segmentPath(segment));
  }

  /** Removes everything except the record. */
  async removeFiles(job: Job): Promise<void> {
    const folder = await this.#jobFolder(job);
    await rm(join(folder, 'files.jsonl'), { force: true });
    await rm(join(folder, 'data'), { recursive: true, force: true });
  }

  async close(): Promise<void> {
    await Promise.all(this.#writing.values());
    if (this.#stateFolder === undefined && this.#opened !== undefined)
      await rm(await this.#opened, { recursive: true, force: true });
    this.#opened = undefined;
    await this.#lock?.release();
    this.#lock = undefined;
  }

  /** A folder without a record remains if the service is killed during the first write. */
  async #removeIncomplete(folder: string): Promise<void> {
    const names = await readdir(folder).catch(() => undefined); // not a folder, so not a job's
    if (names?.every(name => name === 'job.json.part')) await rm(folder, { recursive: true });
  }

  async #loadFiles(job: Job): Promise<DataFile[]> {
    const path = join(await this.#jobFolder(job), 'files.jsonl');
    const text = (await reading(path, () => textOf(path))) ?? '';
    // A cut last line comes from a kill during the append; its file is written again.
    const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
    const files = lines.filter(line => line !== '').map(line => parse(path, line) as DataFile);
    if (!text.endsWith('\n') && text !== '')
      await replaceFile(path, files.map(file => `${JSON.stringify(file)}\n`).join(''));
    return files;
  }

  async #jobFolder({ uuid }: Job): Promise<string> {
    return join(await this.#root(), uuid);
  }

  #root(): Promise<string> {
    this.#opened ??= this.#openRoot();
    return this.#opened;
  }

  async #openRoot(): Promise<string> {
    if (this.#stateFolder === undefined) return temporaryFolder('jobs');
    const folder = join(this.#stateFolder, 'jobs');
    await mkdir(folder, { recursive: true }).catch(cause => {
      throw new StorageError(`Cannot keep jobs in ${folder}: ${cause.message}`, {
        path: folder,
        cause,
      });
    });
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
    if (['ENOENT', 'ENOTDIR'].includes(String((error as NodeJS.ErrnoException).code)))
      return undefined;
    throw error;
  }
}

async function reading<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    throw new StorageError(`Cannot read ${path}: ${(cause as Error).message}`, { path, cause });
  }
}

function parse(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new StorageError(`Not what the service wrote: ${path}; remove it, or its folder`, {
      path,
      cause,
    });
  }
}
