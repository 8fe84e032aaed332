import { appendFile, mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import pLimit from 'p-limit';
import { isNodeError, StorageError } from '../../errors.js';
import { replaceFile } from '../../storage/replace-file.js';
import type { UsedNonce } from './nonces.js';

/** Lines of nonces that are over, past which the file is written again without them. */
const STALE_LINES = 10_000;

/** The nonces that were used, a line each, added before the request is answered. */
export class NonceFile {
  readonly #file: string | undefined;
  #lines = 0;
  /** Changes follow each other. */
  readonly #inTurn = pLimit(1);

  /** @param stateFolder Without one, nothing is kept. */
  constructor(stateFolder: string | undefined) {
    this.#file = stateFolder && join(stateFolder, 'oauth', 'nonces.jsonl');
  }

  /** @throws StorageError when it cannot be read. */
  load(): Promise<readonly UsedNonce[]> {
    return this.#doing('read', async file => {
      const text = await readFile(file, 'utf8').catch(error => {
        if (isNodeError(error, 'ENOENT')) return '';
        throw error;
      });
      // A last line that was cut is of a request that was never answered.
      const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
      const used = lines.filter(line => line !== '').map(line => JSON.parse(line) as UsedNonce);
      if (text !== '' && !text.endsWith('\n')) await this.#rewrite(file, used);
      this.#lines = used.length;
      return used;
    });
  }

  /**
   * @param live All that are still good to know.
   * @throws StorageError
   */
  async add(nonce: UsedNonce, live: { readonly size: number; all(): Iterable<UsedNonce> }) {
    await this.#doing('write', async file => {
      if (this.#lines > live.size + STALE_LINES) return this.#rewrite(file, [...live.all()]);
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await appendFile(file, lineOf(nonce), { mode: 0o600 });
      this.#lines++;
    });
  }

  async #rewrite(file: string, used: readonly UsedNonce[]): Promise<void> {
    await replaceFile(file, used.map(lineOf).join(''), { mode: 0o600, aside: `${file}.part` });
    this.#lines = used.length;
  }

  #doing<Result>(what: string, work: (file: string) => Promise<Result>): Promise<Result> {
    const file = this.#file;
    if (file === undefined) return Promise.resolve([] as Result);
    return this.#inTurn(async () => {
      try {
        return await work(file);
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new StorageError(
          `Could not ${what} the nonces in ${file}; remove it if it is damaged: ${reason}`,
          { path: file, cause },
        );
      }
    });
  }
}

function lineOf(nonce: UsedNonce): string {
  return `${JSON.stringify(nonce)}\n`;
}
