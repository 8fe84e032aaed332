import { createHash } from 'node:crypto';
import { lstat, open, readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { StorageError } from '../base/errors.js';
import { ifThere } from '../storage/file-system.js';
import { makeSyncedFolder, syncFolder } from '../storage/folder.js';
import { replaceFile } from '../storage/replace-file.js';
import { withStorageError } from '../storage/storage-error.js';

/** The maximum size of the file in bytes. When the file grows beyond it, only its last part is kept. */
const MAX_FILE_BYTES = 64 * 1024;

const TIME = '\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z';
/**
 * Matches a whole line: the time of a connection, optionally followed by the later time at which its request
 * was sent. The pattern is anchored, because a part of a truncated line could look like a different time.
 */
const WHOLE = new RegExp(`^(${TIME})(?: (${TIME}))?$`);

/**
 * Stores the times of connections in a file. After a crash and a restart, the process then still knows which
 * connections the service counts towards its limit.
 */
export class ConnectLog {
  readonly #file: string;

  /**
   * @param budget Identifies the connections that share one limit of the service, for example by account name
   *   and host.
   */
  constructor(folder: string, budget: string) {
    const name = createHash('sha256').update(budget).digest('hex').slice(0, 16);
    this.#file = path.join(folder, `connects-${name}.log`);
  }

  /** Returns the stored times of connections in epoch milliseconds, in ascending order. */
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

  /** Stores the time of a connection. Resolves once the time would survive a power failure. */
  async add(at: number): Promise<void> {
    await this.#append(text(at), true);
    await this.#withError('store', () => syncFolder(path.dirname(this.#file)));
  }

  /**
   * Replaces the stored time of a connection, `at`, with `sentAt`, the later time at which its request was
   * sent. The change is not synced to disk, so a power failure may undo it.
   */
  async move(at: number, sentAt: number): Promise<void> {
    await this.#append(`${text(at)} ${text(sentAt)}`, false);
  }

  async #append(line: string, sync: boolean): Promise<void> {
    await this.#withError('store', async () => {
      const handle = await open(this.#file, 'a', 0o600);
      try {
        // The line starts with a line end, because a killed process may have left an incomplete line in the
        // file.
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
 * Returns whether the digits of a line are a valid time. In a damaged line, they may be invalid, such as
 * month 13.
 */
function isTime(line: string): boolean {
  const at = Date.parse(line);
  return !Number.isNaN(at) && text(at) === line;
}

function text(at: number): string {
  return new Date(at).toISOString();
}

/**
 * Returns the path of the folder that stores the times of replay connections. The default is a folder of the
 * current user in the system's temporary folder. Creates the folder if it does not exist.
 */
export async function replayFolder(folder: string | undefined): Promise<string> {
  const shared = folder === undefined;
  const at = folder ?? path.join(os.tmpdir(), `millrace-${process.getuid?.() ?? 'user'}`);
  await withStorageError('use the folder', at, async () => {
    await makeSyncedFolder(at, { mode: 0o700 });
    const { uid } = await lstat(at);
    // Another user may have created a folder with this name in the system's temporary folder.
    if (shared && process.getuid !== undefined && uid !== process.getuid())
      throw new StorageError(
        `Could not use the folder ${at}: it belongs to another user; pass \`folder\``,
        { path: at },
      );
  });
  return at;
}
