import { createHash } from 'node:crypto';
import { lstat, open, readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { StorageError } from '../base/errors.js';
import { ifThere } from '../storage/file-system.js';
import { makeSyncedFolder, syncFolder } from '../storage/folder.js';
import { replaceFile } from '../storage/replace-file.js';
import { withStorageError } from '../storage/storage-error.js';

/** If the file is larger than this, only its end is kept. */
const MAX_FILE_BYTES = 64 * 1024;

const TIME = '\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z';
/**
 * Matches a line: the time of a connection, and the time at which its request was sent, if that was later.
 * The whole line must match, because a truncated time could be read as another time.
 */
const WHOLE = new RegExp(`^(${TIME})(?: (${TIME}))?$`);

/** A file with the times of connections, so that they count towards the limit even after a crash and a restart. */
export class ConnectLog {
  readonly #file: string;

  /** @param budget identifies connections that the service counts together, such as by the account's name and host */
  constructor(folder: string, budget: string) {
    const name = createHash('sha256').update(budget).digest('hex').slice(0, 16);
    this.#file = path.join(folder, `connects-${name}.log`);
  }

  /** Returns the times in epoch milliseconds, in order. */
  async read(): Promise<number[]> {
    const content = await this.#text();
    const times: number[] = [];
    for (const line of content.split('\n')) {
      const [, at, sentAt] = WHOLE.exec(line) ?? [];
      if (at === undefined || !isTime(at) || !isTime(sentAt ?? at)) continue;
      const before = sentAt === undefined ? -1 : times.indexOf(Date.parse(at));
      if (before !== -1) times.splice(before, 1);
      times.push(Date.parse(sentAt ?? at));
    }
    return times.sort((a, b) => a - b);
  }

  /** Adds a time, and resolves once it survives a power failure. */
  async add(at: number): Promise<void> {
    await this.#append(text(at), true);
    await this.#withError('store', () => syncFolder(path.dirname(this.#file)));
  }

  /**
   * Changes a time that was added, if the disk or the connection took long, because the service counts a
   * connection from the arrival of its request. A power failure can undo this.
   */
  async move(at: number, sentAt: number): Promise<void> {
    await this.#append(`${text(at)} ${text(sentAt)}`, false);
  }

  async #append(line: string, sync: boolean): Promise<void> {
    await this.#withError('store', async () => {
      const handle = await open(this.#file, 'a', 0o600);
      try {
        // The line starts with a line end, because other processes append too, and a killed process
        // may have left an incomplete line.
        await handle.appendFile(`\n${line}\n`);
        if (sync) await handle.datasync();
      } finally {
        await handle.close();
      }
    });
  }

  async #text(): Promise<string> {
    return this.#withError('read', async () => {
      const text = (await ifThere(readFile(this.#file, 'latin1'))) ?? '';
      if (text.length > MAX_FILE_BYTES)
        await replaceFile(this.#file, text.split('\n').slice(-100).join('\n'), { mode: 0o600 });
      return text;
    });
  }

  #withError<T>(doing: 'read' | 'store', work: () => Promise<T>): Promise<T> {
    return withStorageError(`${doing} the times of connections in`, this.#file, work);
  }
}

/**
 * Returns whether the digits of a line are a time. A damaged line can contain other digits, such as
 * a month 13.
 */
function isTime(line: string): boolean {
  const at = Date.parse(line);
  return !Number.isNaN(at) && text(at) === line;
}

function text(at: number): string {
  return new Date(at).toISOString();
}

/** The folder for temporary data of replays, created if it does not exist. */
export async function replayFolder(folder: string | undefined): Promise<string> {
  const shared = folder === undefined;
  const at = folder ?? path.join(os.tmpdir(), `millrace-${process.getuid?.() ?? 'user'}`);
  await withStorageError('use the folder', at, async () => {
    await makeSyncedFolder(at, { mode: 0o700 });
    const { uid } = await lstat(at);
    // In the system's temporary folder, another user may have created a folder of this name.
    if (shared && process.getuid !== undefined && uid !== process.getuid())
      throw new StorageError(
        `Could not use the folder ${at}: it belongs to another user; pass \`folder\``,
        { path: at },
      );
  });
  return at;
}
