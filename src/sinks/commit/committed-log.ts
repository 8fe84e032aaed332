import type { Cursor } from '../../flow/flow.js';
import type { FileSystem } from '../../storage/file-system.js';
import { regularStatus } from '../../storage/regular-file.js';
import { fileSystemIn, workingFolder } from '../../storage/working-folder.js';
import { outputLockPath } from '../write/other-runs.js';
import { PART } from '../write/output-file.js';
import type { CommittedFile } from './checkpoint.js';
import { AGAIN, settleAndSync } from './committer.js';
import { DamagedLog } from './damaged-log.js';
import { adoptFinished, restore } from './restore-files.js';
import type { Saved } from './saved-text.js';

export interface CommittedLogOptions {
  /** The option `damaged`; without it, the files of earlier runs are finished, and nothing is added. */
  readonly path: string | undefined;
  /** The target, for messages. */
  readonly name: string;
  /** Whether the run goes on where one ended that was complete. */
  readonly goesOn: boolean;
  onFailure(error: unknown): void;
}

/**
 * The damaged records of `committed`. Their file is synced before each commit, whose text says how long it is: what is
 * after that is cut off when a run goes on.
 */
export class CommittedLog {
  readonly log: DamagedLog;
  #files: readonly CommittedFile[] = [];

  private constructor(log: DamagedLog) {
    this.log = log;
  }

  /**
   * Restores what the saved text counts, and finishes the files of a run that is complete.
   *
   * @returns Nothing without files, where none is wanted.
   */
  static async open(
    fs: FileSystem,
    { state, damaged: before = [] }: Pick<Saved, 'state' | 'damaged'>,
    options: CommittedLogOptions,
  ): Promise<CommittedLog | undefined> {
    const path = options.path ?? before[0]?.path;
    if (path === undefined) return undefined;
    const folder = workingFolder();
    const here = fileSystemIn(folder, fs);
    const open = () =>
      new CommittedLog(
        new DamagedLog(here, path, {
          folder,
          claims: new Map(),
          reserved: [],
          afterFailure: () => `${AGAIN}: it goes on after the last commit`,
          onFailure: options.onFailure,
        }),
      );
    let files = before;
    if (state === 'complete') {
      // The run before may have ended between its last commit and the names of its files.
      const isThere = async (name: string) => (await regularStatus(here, name)) !== undefined;
      const parts: CommittedFile[] = [];
      for (const file of files) if (await isThere(file.path + PART)) parts.push(file);
      if (parts.length > 0 || (files.length > 0 && (await isThere(outputLockPath(path))))) {
        const last = open();
        try {
          await last.log.outputs.lock();
          await last.#resume(here, options.name, 'finishing', parts);
          await last.finish();
        } finally {
          await last.close();
        }
      }
      if (options.goesOn)
        ({ files } = await adoptFinished(here, { state, cursor: undefined, files }));
    }
    const opened = open();
    opened.#files = files;
    if (state === 'complete' && !options.goesOn) return opened;
    try {
      await opened.#resume(here, options.name, 'running', files);
    } catch (error) {
      await opened.close();
      throw error;
    }
    return opened;
  }

  get records(): number {
    return this.#files.reduce((sum, { posts }) => sum + posts, 0);
  }

  /**
   * Puts what was reported so far on disk, and returns what the text of a commit says of it.
   *
   * @param cursor What is committed; absent where all items were read.
   */
  async commit(cursor: Cursor | undefined): Promise<readonly CommittedFile[]> {
    const { log } = this;
    log.reached(cursor);
    const { settled } = log;
    const changed = await settleAndSync([log]);
    const all = new Map([...this.#files, ...changed].map(file => [file.path, file]));
    this.#files = Array.from(all.values(), file => ({ ...file, settled: settled.get(file.path) }));
    return this.#files;
  }

  /** Gives the files their names. */
  async finish(): Promise<void> {
    await this.log.outputs.nameFiles();
    await this.log.outputs.unlock();
  }

  close(): Promise<void> {
    return this.log.close();
  }

  async #resume(
    fs: FileSystem,
    name: string,
    state: 'running' | 'finishing',
    files: readonly CommittedFile[],
  ): Promise<void> {
    const { log } = this;
    this.#files = files;
    if (files.length > 0) await log.outputs.lock();
    const named = await restore(fs, name, { state, cursor: undefined, files }, () => log);
    await log.resume(files, named);
  }
}
