import { createHash } from 'node:crypto';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { LineLog } from '../../storage/line-log.js';
import { withAnyStorageError } from '../../storage/storage-error.js';

/** A used nonce: its timestamp in seconds, and a digest of its owner and the nonce. */
export type UsedNonce = readonly [timestamp: number, digest: string];

/** The maximum number of nonces in memory, with about 150 bytes each. */
const MAX_NONCES = 200_000;

/**
 * The nonces of signed requests, kept as long as the service accepts their timestamps. Each nonce can be used
 * once (RFC 5849 section 3.3).
 */
export class Nonces {
  readonly #max: number;
  /** Used nonces by timestamp, in seconds. */
  readonly #used = new Map<number, Set<string>>();
  #size = 0;
  /** Since this second, every used nonce is in memory. Nonces with earlier timestamps may have been dropped. */
  #completeSince = Number.NEGATIVE_INFINITY;

  constructor(max = MAX_NONCES) {
    this.#max = max;
  }

  /**
   * Returns whether all used nonces with this timestamp are in memory, so that a repeated nonce is noticed.
   *
   * @param now The current time in seconds. If it is before `#completeSince`, the clock was set back. The
   * result is then `true` for every timestamp, because otherwise new requests would be refused.
   */
  canCheck(timestamp: number, now: number): boolean {
    return timestamp >= this.#completeSince || now < this.#completeSince;
  }

  /** Drops all nonces with timestamps earlier than `before`. After that, `canCheck` refuses these timestamps. */
  forget(before: number): void {
    this.#completeSince = Math.max(this.#completeSince, before);
    this.expire(before);
  }

  /**
   * Drops all nonces with timestamps earlier than `before`. The caller must refuse requests with such
   * timestamps.
   */
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
   * @returns The nonce to store; `undefined` if it was used before.
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

  /** Adds a stored nonce. Returns false if it is not new. */
  restore([timestamp, entry]: UsedNonce): boolean {
    const nonces = this.#used.get(timestamp) ?? new Set<string>();
    if (nonces.has(entry)) return false;
    nonces.add(entry);
    this.#used.set(timestamp, nonces);
    // If there are too many nonces, the nonces of the oldest second are dropped. From then on, `canCheck`
    // refuses timestamps up to that second.
    if (++this.#size > this.#max && this.#used.size > 1)
      this.forget(Math.min(...this.#used.keys()) + 1);
    return true;
  }
}

/** Once the file has this many expired nonces, it is rewritten without them. */
const MAX_STALE_LINES = 10_000;

/** Stores the used nonces, one per line. A nonce is stored before its request is answered. */
export class NonceFile {
  readonly #file: string | undefined;
  readonly #log: LineLog<UsedNonce> | undefined;
  #lines = 0;
  readonly #serial = pLimit(1);

  /** @param stateFolder If undefined, nothing is stored. */
  constructor(stateFolder: string | undefined) {
    if (stateFolder === undefined) return;
    this.#file = join(stateFolder, 'oauth', 'nonces.jsonl');
    this.#log = new LineLog(this.#file, { mode: 0o600, folderMode: 0o700 });
  }

  /** Reads the stored nonces. @throws StorageError if the file cannot be read. */
  async load(): Promise<readonly UsedNonce[]> {
    const used = await this.#use('read', log => log.read());
    this.#lines = used?.length ?? 0;
    return used ?? [];
  }

  /**
   * Appends a nonce, or rewrites the file if too many of its lines have expired.
   *
   * @param live The nonces that have not expired, including the new nonce.
   * @throws StorageError
   */
  async add(nonce: UsedNonce, live: { readonly size: number; all(): Iterable<UsedNonce> }) {
    await this.#use('write', async log => {
      if (this.#lines > live.size + MAX_STALE_LINES) {
        await log.replace(live.all());
        this.#lines = live.size;
      } else {
        await log.append(nonce);
        this.#lines++;
      }
    });
  }

  async #use<Result>(
    doing: string,
    work: (log: LineLog<UsedNonce>) => Promise<Result>,
  ): Promise<Result | undefined> {
    const [file, log] = [this.#file, this.#log];
    if (file === undefined || log === undefined) return undefined;
    return this.#serial(() =>
      withAnyStorageError(
        `${doing} the nonces in`,
        file,
        () => work(log),
        'Remove it if it is damaged',
      ),
    );
  }
}
