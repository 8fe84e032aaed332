import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { HOUR } from '../../../time.js';

/** The visitor of a page. */
export interface Visitor<User> {
  /** Undefined if not signed in. */
  readonly user: User | undefined;
  /** The token that every form of this browser must send. */
  readonly csrf: string;
  /** `Set-Cookie`, if the browser has no valid cookie yet. */
  readonly headers: Readonly<Record<string, string>>;
}

interface Session<User> {
  readonly user: User;
  /** In milliseconds of real time, so that moving the service's clock does not sign users out. */
  readonly expiresAt: number;
  /** Shown once, on the next page. */
  notice?: string | undefined;
}

const SESSION_MS = 12 * HOUR;
const MAX_SESSIONS = 1_000;

/**
 * Sign-in sessions in memory. Each browser has a random id in a cookie, from which the token of its
 * forms derives, so nothing is stored before a sign-in. A sign-in changes the id.
 */
export class Sessions<User> {
  readonly #name: string;
  readonly #path: string;
  readonly #key = randomBytes(32);
  readonly #sessions = new Map<string, Session<User>>();

  /** @param path The path prefix of the pages, for the cookie. */
  constructor(name: string, path: string) {
    this.#name = name;
    this.#path = path;
  }

  visitor(request: IncomingMessage): Visitor<User> {
    const existing = this.#idOf(request);
    const id = existing ?? newId();
    return {
      user: this.#session(id)?.user,
      csrf: this.#csrf(id),
      headers: existing === undefined ? this.#cookie(request, id) : {},
    };
  }

  /** Whether a form has the token of its browser. */
  isFormToken(request: IncomingMessage, token: string | null): boolean {
    const id = this.#idOf(request);
    const given = Buffer.from(token ?? '');
    const expected = Buffer.from(this.#csrf(id ?? newId()));
    return given.length === expected.length && timingSafeEqual(given, expected);
  }

  /** Returns headers for the response. */
  signIn(request: IncomingMessage, who: User): Readonly<Record<string, string>> {
    this.signOut(request);
    const now = Date.now();
    for (const [id, { expiresAt }] of this.#sessions)
      if (expiresAt <= now || this.#sessions.size >= MAX_SESSIONS) this.#sessions.delete(id);
    const id = newId();
    this.#sessions.set(id, { user: who, expiresAt: now + SESSION_MS });
    return this.#cookie(request, id);
  }

  /** Returns headers for the response. */
  signOut(request: IncomingMessage): Readonly<Record<string, string>> {
    this.#sessions.delete(this.#idOf(request) ?? '');
    return this.#cookie(request, '', '; Max-Age=0');
  }

  /** Sets a message for the next page. */
  setNotice(request: IncomingMessage, notice: string): void {
    const session = this.#session(this.#idOf(request) ?? '');
    if (session !== undefined) session.notice = notice;
  }

  /** Returns and removes the message. HEAD does not remove it, since its response has no body. */
  takeNotice(request: IncomingMessage): string | undefined {
    const session = this.#session(this.#idOf(request) ?? '');
    const notice = session?.notice;
    if (session !== undefined && request.method !== 'HEAD') session.notice = undefined;
    return notice;
  }

  #session(id: string): Session<User> | undefined {
    const session = this.#sessions.get(id);
    return session !== undefined && session.expiresAt > Date.now() ? session : undefined;
  }

  #csrf(id: string): string {
    return createHmac('sha256', this.#key).update(id).digest('base64url');
  }

  #idOf(request: IncomingMessage): string | undefined {
    const name = this.#cookieName(request);
    for (const pair of (request.headers.cookie ?? '').split(';')) {
      const [key = '', value = ''] = pair.trim().split('=', 2);
      if (key === name && ID.test(value)) return value;
    }
    return undefined;
  }

  #cookie(request: IncomingMessage, id: string, rest = ''): Record<string, string> {
    const cookie = `${this.#cookieName(request)}=${id}; Path=${this.#path}; HttpOnly; SameSite=Lax${rest}`;
    return { 'Set-Cookie': cookie };
  }

  /** Cookies ignore ports, so the name has the port: services on one machine must not share it. */
  #cookieName({ socket }: IncomingMessage): string {
    return `${this.#name}-${socket.localPort}`;
  }
}

const ID = /^[\w-]{43}$/;

function newId(): string {
  return randomBytes(32).toString('base64url');
}
