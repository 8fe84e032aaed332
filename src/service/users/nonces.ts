import { createHash } from 'node:crypto';

/** A nonce that was used: its timestamp in seconds, and a digest of it and of whose it is. */
export type UsedNonce = readonly [timestamp: number, digest: string];

/** Pairs of timestamp and nonce that a service remembers at most, some 150 bytes each. */
const MOST = 200_000;

/**
 * The nonces of signed requests, for as long as their timestamps are taken: each is good once
 * (RFC 5849 section 3.3).
 */
export class Nonces {
  readonly #most: number;
  /** By timestamp, in seconds. */
  readonly #seen = new Map<number, Set<string>>();
  #size = 0;
  /** Requests of before this second may have been seen without being remembered. */
  #since = Number.NEGATIVE_INFINITY;

  constructor(most = MOST) {
    this.#most = most;
  }

  /**
   * Whether a request of that second can still be told from one that came before.
   *
   * @param now In seconds. A clock that was set back to before what is forgotten begins anew.
   */
  remembers(timestamp: number, now: number): boolean {
    return timestamp >= this.#since || now < this.#since;
  }

  /** What came before that second is forgotten, and no more to be told from what comes again. */
  forget(before: number): void {
    this.#since = Math.max(this.#since, before);
    this.expire(before);
  }

  /** What came before that second is not taken any more for another reason. */
  expire(before: number): void {
    for (const [timestamp, nonces] of this.#seen)
      if (timestamp < before) {
        this.#seen.delete(timestamp);
        this.#size -= nonces.size;
      }
  }

  /**
   * Takes a nonce in; gives what is to be kept of it, or nothing where it is not new.
   *
   * @param whose The application and the token: others may have the same.
   */
  use(whose: string, timestamp: number, nonce: string): UsedNonce | undefined {
    const entry = createHash('sha256')
      .update(JSON.stringify([whose, nonce]))
      .digest('base64url');
    const used: UsedNonce = [timestamp, entry];
    return this.restore(used) ? used : undefined;
  }

  get size(): number {
    return this.#size;
  }

  *all(): Iterable<UsedNonce> {
    for (const [timestamp, nonces] of this.#seen)
      for (const entry of nonces) yield [timestamp, entry];
  }

  /** Takes in what was kept; says whether it is new. */
  restore([timestamp, entry]: UsedNonce): boolean {
    const nonces = this.#seen.get(timestamp) ?? new Set<string>();
    if (nonces.has(entry)) return false;
    nonces.add(entry);
    this.#seen.set(timestamp, nonces);
    // Rather none of an old second than all of the memory.
    if (++this.#size > this.#most && this.#seen.size > 1)
      this.forget(Math.min(...this.#seen.keys()) + 1);
    return true;
  }
}
