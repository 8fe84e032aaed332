import { createHash } from 'node:crypto';
import { appendFile, mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import pLimit from 'p-limit';
import { isNodeError, StorageError } from '../../errors.js';
import { replaceFile } from '../../storage/replace-file.js';

/** A used nonce: its timestamp in seconds, and a digest of its owner and itself. */
export type UsedNonce = readonly [timestamp: number, digest: string];

/** Nonces in memory, about 150 bytes each. */
const MAX_NONCES = 200_000;

/**
 * The nonces of signed requests, for as long as the service accepts their timestamps. Each can be used
 * once (RFC 5849 section 3.3).
 */
export class Nonces {
  readonly #max: number;
  /** By timestamp, in seconds. */
  readonly #used = new Map<number, Set<string>>();
  #size = 0;
  /** The nonces of earlier seconds are incomplete. */
  #completeSince = Number.NEGATIVE_INFINITY;

  constructor(max = MAX_NONCES) {
    this.#max = max;
  }

  /**
   * Whether a repeated nonce of that second would be recognized.
   *
   * @param now In seconds. A clock that is set back to before the forgotten seconds starts over.
   */
  canCheck(timestamp: number, now: number): boolean {
    return timestamp >= this.#completeSince || now < this.#completeSince;
  }

  /** Drops the nonces of earlier seconds, whose timestamps `canCheck` then refuses. */
  forget(before: number): void {
    this.#completeSince = Math.max(this.#completeSince, before);
    this.expire(before);
  }

  /** Drops the nonces of earlier seconds, whose timestamps the caller refuses itself. */
  expire(before: number): void {
    for (const [timestamp, nonces] of this.#used)
      if (timestamp < before) {
        this.#used.delete(timestamp);
        this.#size -= nonces.size;
      }
  }

  /**
   * Marks a nonce as used.
   *
   * @param owner The application and the token. Another owner may use the same nonce.
   * @returns What to store of it; undefined if it was used before.
   */
  use(owner: string, timestamp: number, nonce: string): UsedNonce | undefined {
    const entry = createHash('sha256')
      .update(JSON.stringify([owner, nonce]))
      .digest('base64url');
    const used: UsedNonce = [timestamp, entry];
    return this.restore(used) ? used : undefined;
  }

  get size(): number {
    return this.#size;
  }

  *all(): Iterable<UsedNonce> {
    for (const [timestamp, nonces] of this.#used)
      for (const entry of nonces) yield [timestamp, entry];
  }

  /** Adds a stored nonce; false if it is not new. */
  restore([timestamp, entry]: UsedNonce): boolean {
    const nonces = this.#used.get(timestamp) ?? new Set<string>();
    if (nonces.has(entry)) return false;
    nonces.add(entry);
    this.#used.set(timestamp, nonces);
    // With too many nonces, the oldest second is dropped and refused from then on.
    if (++this.#size > this.#max && this.#used.size > 1)
      this.forget(Math.min(...this.#used.keys()) + 1);
    return true;
  }
}

/** Lines of expired nonces that trigger a compaction of the file. */
const MAX_STALE_LINES = 10_000;

/** Stores the used nonces, one a line. A nonce is stored before its request is answered. */
export class NonceFile {
  readonly #file: string | undefined;
  #lines = 0;
  /** Serializes writes. */
  readonly #serial = pLimit(1);

  /** @param stateFolder If undefined, nothing is stored. */
  constructor(stateFolder: string | undefined) {
    this.#file = stateFolder && join(stateFolder, 'oauth', 'nonces.jsonl');
  }

  /** @throws StorageError if the file cannot be read. */
  load(): Promise<readonly UsedNonce[]> {
    return this.#withStorageError('read', async file => {
      const text = await readFile(file, 'utf8').catch(error => {
        if (isNodeError(error, 'ENOENT')) return '';
        throw error;
      });
      // A cut last line belongs to a request that was never answered.
      const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
      const used = lines.filter(line => line !== '').map(line => JSON.parse(line) as UsedNonce);
      if (text !== '' && !text.endsWith('\n')) await this.#rewrite(file, used);
      this.#lines = used.length;
      return used;
    });
  }

  /**
   * Appends a nonce, or rewrites the file if too many of its lines have expired.
   *
   * @param live The nonces that have not expired, including this one.
   * @throws StorageError
   */
  async add(nonce: UsedNonce, live: { readonly size: number; all(): Iterable<UsedNonce> }) {
    await this.#withStorageError('write', async file => {
      if (this.#lines > live.size + MAX_STALE_LINES) return this.#rewrite(file, [...live.all()]);
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await appendFile(file, lineOf(nonce), { mode: 0o600 });
      this.#lines++;
    });
  }

  async #rewrite(file: string, used: readonly UsedNonce[]): Promise<void> {
    await replaceFile(file, used.map(lineOf).join(''), { mode: 0o600, aside: `${file}.part` });
    this.#lines = used.length;
  }

  #withStorageError<Result>(
    action: string,
    work: (file: string) => Promise<Result>,
  ): Promise<Result> {
    const file = this.#file;
    if (file === undefined) return Promise.resolve([] as Result);
    return this.#serial(async () => {
      try {
        return await work(file);
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new StorageError(
          `Could not ${action} the nonces in ${file}; remove it if it is damaged: ${reason}`,
          { path: file, cause },
        );
      }
    });
  }
}

function lineOf(nonce: UsedNonce): string {
  return `${JSON.stringify(nonce)}\n`;
}
