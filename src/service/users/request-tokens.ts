import { randomBytes, randomInt } from 'node:crypto';
import type { Clock } from '../clock.js';
import { isSameSecret } from '../http/check-access.js';
import type { Application } from './applications.js';
import type { Grant } from './grants.js';
import { OUT_OF_BAND } from './oauth-options.js';

/** A request token: issued in step 1 of a sign-in, exchanged in step 3. */
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
  /** An approval is being stored. */
  isBeingApproved?: boolean | undefined;
  wrongVerifiers: number;
}

/** Beyond this number, the oldest token is dropped. */
const MAX_TOKENS = 10_000;
/** Stops guessing: a PIN has only seven digits. */
const MAX_WRONG_VERIFIERS = 5;

/** Request tokens and their verifiers: short-lived, for one use, in memory only. */
export class RequestTokens {
  readonly #clock: Clock;
  readonly #validMs: number;
  /** In order of creation. */
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock, validMs: number) {
    this.#clock = clock;
    this.#validMs = validMs;
  }

  issue(application: Application, callback: string): RequestToken {
    for (const [token, { expiresAt }] of this.#entries)
      if (expiresAt <= this.#clock.now() || this.#entries.size >= MAX_TOKENS)
        this.#entries.delete(token);
    const entry: Entry = {
      token: randomBytes(21).toString('base64url'),
      secret: randomBytes(30).toString('base64url'),
      application,
      callback,
      expiresAt: this.#clock.now() + this.#validMs,
      wrongVerifiers: 0,
    };
    this.#entries.set(entry.token, entry);
    return entry;
  }

  /** Approved or not, unless expired. */
  find(token: string): RequestToken | undefined {
    const entry = this.#entries.get(token);
    return entry !== undefined && entry.expiresAt > this.#clock.now() ? entry : undefined;
  }

  /** A token without a decision. */
  pending(token: string): RequestToken | undefined {
    const entry = this.#entries.get(token);
    return entry?.approved === undefined && entry?.isBeingApproved !== true
      ? this.find(token)
      : undefined;
  }

  /** Approves a pending token and returns its verifier; undefined if it is not pending. */
  async approve(token: string, grant: () => Promise<Grant>): Promise<string | undefined> {
    const entry = this.pending(token) as Entry | undefined;
    if (entry === undefined) return undefined;
    entry.isBeingApproved = true;
    try {
      const isPin = entry.callback === OUT_OF_BAND;
      const verifier = isPin
        ? String(randomInt(10_000_000)).padStart(7, '0')
        : randomBytes(24).toString('base64url');
      entry.approved = { verifier, grant: await grant() };
      return verifier;
    } finally {
      entry.isBeingApproved = false;
    }
  }

  clear(): void {
    this.#entries.clear();
  }

  delete(token: string): void {
    this.#entries.delete(token);
  }

  /** The grant, once. A token also ends after several wrong verifiers. */
  exchange(token: string, verifier: string): Grant | 'pending' | undefined {
    const entry = this.find(token) as Entry | undefined;
    if (entry === undefined) return undefined;
    if (entry.approved === undefined) return 'pending';
    if (isSameSecret(entry.approved.verifier, verifier)) {
      this.#entries.delete(token);
      return entry.approved.grant;
    }
    if (++entry.wrongVerifiers >= MAX_WRONG_VERIFIERS) this.#entries.delete(token);
    return undefined;
  }
}
