import { randomBytes, randomInt } from 'node:crypto';
import type { Clock } from '../clock.js';
import type { Application } from './application.js';
import { OUT_OF_BAND } from './callback.js';
import type { Grant } from './grants.js';
import { isSameSecret } from './signature.js';

/** Step 1 of a sign-in, on its way to step 3 (service.md 4.8). */
export interface RequestToken {
  readonly token: string;
  readonly secret: string;
  readonly application: Application;
  readonly callback: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

interface Entry extends RequestToken {
  approved?: { readonly verifier: string; readonly grant: Grant } | undefined;
  /** Someone is approving it now. */
  taken?: boolean | undefined;
  wrongVerifiers: number;
}

/** Under way at once at most; more push the oldest out. */
const MOST = 10_000;
/** A PIN has seven digits: no one gets to guess. */
const MOST_WRONG = 5;

/** Request tokens and their verifiers: short-lived, each good once, gone when the service stops. */
export class RequestTokens {
  readonly #clock: Clock;
  readonly #lifeMs: number;
  /** In the order in which they were made. */
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock, lifeMs: number) {
    this.#clock = clock;
    this.#lifeMs = lifeMs;
  }

  issue(application: Application, callback: string): RequestToken {
    for (const [token, { expiresAt }] of this.#entries)
      if (expiresAt <= this.#clock.now() || this.#entries.size >= MOST) this.#entries.delete(token);
    const entry: Entry = {
      token: randomBytes(21).toString('base64url'),
      secret: randomBytes(30).toString('base64url'),
      application,
      callback,
      expiresAt: this.#clock.now() + this.#lifeMs,
      wrongVerifiers: 0,
    };
    this.#entries.set(entry.token, entry);
    return entry;
  }

  /** Approved or not. */
  find(token: string): RequestToken | undefined {
    const entry = this.#entries.get(token);
    return entry !== undefined && entry.expiresAt > this.#clock.now() ? entry : undefined;
  }

  /** One that no user has decided on. */
  pending(token: string): RequestToken | undefined {
    const entry = this.#entries.get(token);
    return entry?.approved === undefined && entry?.taken !== true ? this.find(token) : undefined;
  }

  /** Lets no one else decide on it while the grant is made; gives the verifier. */
  async approve(token: string, grant: () => Promise<Grant>): Promise<string | undefined> {
    const entry = this.pending(token) as Entry | undefined;
    if (entry === undefined) return undefined;
    entry.taken = true;
    try {
      const isPin = entry.callback === OUT_OF_BAND;
      const verifier = isPin
        ? String(randomInt(10_000_000)).padStart(7, '0')
        : randomBytes(24).toString('base64url');
      entry.approved = { verifier, grant: await grant() };
      return verifier;
    } finally {
      entry.taken = false;
    }
  }

  clear(): void {
    this.#entries.clear();
  }

  delete(token: string): void {
    this.#entries.delete(token);
  }

  /** What was granted, once; wrong verifiers use a token up as well. */
  exchange(token: string, verifier: string): Grant | 'pending' | undefined {
    const entry = this.find(token) as Entry | undefined;
    if (entry === undefined) return undefined;
    if (entry.approved === undefined) return 'pending';
    if (isSameSecret(entry.approved.verifier, verifier)) {
      this.#entries.delete(token);
      return entry.approved.grant;
    }
    if (++entry.wrongVerifiers >= MOST_WRONG) this.#entries.delete(token);
    return undefined;
  }
}
