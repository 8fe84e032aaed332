import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { HOUR } from '../../../time.js';

/** Whoever sits in front of a browser. */
export interface Visitor<Who> {
  /** Who it is, once signed in. */
  readonly who: Who | undefined;
  /** What every form of this browser has to bring back. */
  readonly csrf: string;
  /** `Set-Cookie`, where the browser has no good cookie yet. */
  readonly headers: Readonly<Record<string, string>>;
}

interface Session<Who> {
  readonly who: Who;
  /** In milliseconds of real time: moving the service's clock signs no one out. */
  readonly until: number;
  /** To be told once. */
  notice?: string | undefined;
}

const LASTS_MS = 12 * HOUR;
const MOST = 1_000;

/**
 * Who is signed in, in memory. A browser has a random id in a cookie; before anyone signs in nothing
 * is kept of it, since the token of its forms follows from the id. Signing in changes the id.
 */
export class Sessions<Who> {
  readonly #name: string;
  readonly #path: string;
  readonly #key = randomBytes(32);
  readonly #sessions = new Map<string, Session<Who>>();

  /** @param path Of the pages that these sessions are for. */
  constructor(name: string, path: string) {
    this.#name = name;
    this.#path = path;
  }

  visitor(request: IncomingMessage): Visitor<Who> {
    const known = this.#idOf(request);
    const id = known ?? newId();
    return {
      who: this.#session(id)?.who,
      csrf: this.#csrf(id),
      headers: known === undefined ? this.#cookie(request, id) : {},
    };
  }

  /** Whether a form came from a page that this very browser was given. */
  isFormToken(request: IncomingMessage, token: string | null): boolean {
    const id = this.#idOf(request);
    const given = Buffer.from(token ?? '');
    const right = Buffer.from(this.#csrf(id ?? newId()));
    return given.length === right.length && timingSafeEqual(given, right);
  }

  /** Headers of the answer. */
  signIn(request: IncomingMessage, who: Who): Readonly<Record<string, string>> {
    this.signOut(request);
    const now = Date.now();
    for (const [id, { until }] of this.#sessions)
      if (until <= now || this.#sessions.size >= MOST) this.#sessions.delete(id);
    const id = newId();
    this.#sessions.set(id, { who, until: now + LASTS_MS });
    return this.#cookie(request, id);
  }

  /** Headers of the answer. */
  signOut(request: IncomingMessage): Readonly<Record<string, string>> {
    this.#sessions.delete(this.#idOf(request) ?? '');
    return this.#cookie(request, '', '; Max-Age=0');
  }

  /** Something to say on the next page. */
  tell(request: IncomingMessage, notice: string): void {
    const session = this.#session(this.#idOf(request) ?? '');
    if (session !== undefined) session.notice = notice;
  }

  /** What was to be said; the second time nothing. An answer without a body says nothing. */
  told(request: IncomingMessage): string | undefined {
    const session = this.#session(this.#idOf(request) ?? '');
    const notice = session?.notice;
    if (session !== undefined && request.method !== 'HEAD') session.notice = undefined;
    return notice;
  }

  #session(id: string): Session<Who> | undefined {
    const session = this.#sessions.get(id);
    return session !== undefined && session.until > Date.now() ? session : undefined;
  }

  #csrf(id: string): string {
    return createHmac('sha256', this.#key).update(id).digest('base64url');
  }

  #idOf(request: IncomingMessage): string | undefined {
    const name = this.#nameAt(request);
    for (const pair of (request.headers.cookie ?? '').split(';')) {
      const [key = '', value = ''] = pair.trim().split('=', 2);
      if (key === name && ID.test(value)) return value;
    }
    return undefined;
  }

  #cookie(request: IncomingMessage, id: string, rest = ''): Record<string, string> {
    const cookie = `${this.#nameAt(request)}=${id}; Path=${this.#path}; HttpOnly; SameSite=Lax${rest}`;
    return { 'Set-Cookie': cookie };
  }

  /** Cookies know no ports; several services on one machine must not sign each other out. */
  #nameAt({ socket }: IncomingMessage): string {
    return `${this.#name}-${socket.localPort}`;
  }
}

const ID = /^[\w-]{43}$/;

function newId(): string {
  return randomBytes(32).toString('base64url');
}
