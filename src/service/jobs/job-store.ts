import { appendFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StorageError } from '../../errors.js';
import { type Lock, takeLock } from '../../storage/lock.js';
import { replaceFile } from '../../storage/replace-file.js';
import { temporaryFolder } from '../temporary-folder.js';
import { segmentPath } from './data-urls.js';
import type { DataFile, Job } from './job.js';

/**
 * Jobs on disk, a folder each: `job.json`, the list `files.jsonl`, and the files in `data`. What is
 * written is there whole or not at all, so the process may end at any moment.
 */
export class JobStore {
  readonly #given: string | undefined;
  #made: Promise<string> | undefined;
  #lock: Lock | undefined;
  /** The last write of each job's record: they follow each other. */
  readonly #writing = new Map<string, Promise<void>>();

  /** @param folder Without one, a temporary folder that `close` removes. */
  constructor(folder: string | undefined) {
    this.#given = folder;
  }

  /** The jobs that were kept, with their files, in the order in which they were made. */
  async load(): Promise<readonly { readonly job: Job; readonly files: DataFile[] }[]> {
    if (this.#given === undefined) return [];
    const folder = await this.#home();
    const found = [];
    for (const entry of await reading(folder, () => readdir(folder))) {
      const path = join(folder, entry, 'job.json');
      const text = await reading(path, () => textOf(path));
      if (text === undefined) {
        await this.#removeUnmade(join(folder, entry));
        continue;
      }
      const job = parse(path, text) as Job;
      found.push({ job, files: await this.#loadFiles(job) });
    }
    return found.sort((a, b) => a.job.number - b.job.number);
  }

  /** Resolves once the record is kept. */
  save(job: Job): Promise<void> {
    const write = async () => {
      const folder = await this.#jobFolder(job);
      await mkdir(folder, { recursive: true });
      // Under the lock of the folder, and one at a time for each job.
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

  /** Adds a file to a job's list; the file itself is there already. */
  async addFile(job: Job, file: DataFile): Promise<void> {
    await appendFile(join(await this.#jobFolder(job), 'files.jsonl'), `${JSON.stringify(file)}\n`);
  }

  async dataFile(job: Job, segment: number): Promise<string> {
    return join(await this.#jobFolder(job), 'data', segmentPath(segment));
  }

  /** All but the record. */
  async removeFiles(job: Job): Promise<void> {
    const folder = await this.#jobFolder(job);
    await rm(join(folder, 'files.jsonl'), { force: true });
    await rm(join(folder, 'data'), { recursive: true, force: true });
  }

  async close(): Promise<void> {
    await Promise.all(this.#writing.values());
    if (this.#given === undefined && this.#made !== undefined)
      await rm(await this.#made, { recursive: true, force: true });
    this.#made = undefined;
    await this.#lock?.release();
    this.#lock = undefined;
  }

  /** A job without a record was never made: the service was killed while it wrote the first one. */
  async #removeUnmade(folder: string): Promise<void> {
    const names = await readdir(folder).catch(() => undefined); // not a folder: not ours
    if (names?.every(name => name === 'job.json.part')) await rm(folder, { recursive: true });
  }

  async #loadFiles(job: Job): Promise<DataFile[]> {
    const path = join(await this.#jobFolder(job), 'files.jsonl');
    const text = (await reading(path, () => textOf(path))) ?? '';
    // A last line that was cut is a file that was never listed.
    const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
    const files = lines.filter(line => line !== '').map(line => parse(path, line) as DataFile);
    if (!text.endsWith('\n') && text !== '')
      await writeFile(path, files.map(file => `${JSON.stringify(file)}\n`).join(''));
    return files;
  }

  async #jobFolder({ uuid }: Job): Promise<string> {
    return join(await this.#home(), uuid);
  }

  #home(): Promise<string> {
    this.#made ??= this.#make();
    return this.#made;
  }

  async #make(): Promise<string> {
    if (this.#given === undefined) return temporaryFolder('jobs');
    const folder = join(this.#given, 'jobs');
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
