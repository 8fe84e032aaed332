import { createHmac, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { HOUR, MINUTE } from '../../../base/time.js';
import { isSameSecret } from '../../http/check-access.js';
import { HttpProblem } from '../../http/http-problem.js';
import { readBody } from '../../http/read-request.js';
import type { Message, Said } from './page-parts.js';

export interface Visitor<User> {
  readonly user: User | undefined;
  readonly csrf: string;
  /** The `Set-Cookie` header, if the browser has no valid cookie yet. */
  readonly headers: Readonly<Record<string, string>>;
}

interface Session<User> {
  readonly user: User;
  /**
   * The end of the session, in milliseconds of real time. If it were in the service's time, moving the clock
   * would end sessions.
   */
  readonly expiresAt: number;
  said?: Said | undefined;
}

const SESSION_MS = 12 * HOUR;
/** A message is shown again if its page is reloaded within this time, in milliseconds. */
const MESSAGE_MS = MINUTE;
const MAX_SESSIONS = 1_000;
const MAX_FORM_BYTES = 64 * 1024;

/**
 * Thrown for a form with an outdated token from a page of this origin. The token is outdated if the browser
 * has signed in or out since it loaded the page.
 */
export class StaleForm extends HttpProblem {
  readonly form: URLSearchParams;

  constructor(form: URLSearchParams) {
    super(403, CROSS_SITE);
    this.form = form;
  }
}

/**
 * Sign-in sessions in memory. A cookie gives each browser a random id. The token in a browser's forms is
 * derived from this id, so that forms need no stored session before a sign-in. A sign-in changes the id.
 */
export class Sessions<User> {
  readonly #name: string;
  readonly #path: string;
  readonly #sameSite: 'Lax' | 'Strict';
  readonly #key = randomBytes(32);
  readonly #sessions = new Map<string, Session<User>>();

  /**
   * @param path The path prefix of the pages, for the cookie.
   * @param sameSite Whether a link from another site opens the pages with the session (`Lax`) or without it
   * (`Strict`).
   */
  constructor(name: string, path: string, sameSite: 'Lax' | 'Strict' = 'Lax') {
    this.#name = name;
    this.#path = path;
    this.#sameSite = sameSite;
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

  /**
   * Reads a form of one of the pages.
   *
   * @throws HttpProblem 415 if the body is not a form, 413 if the form is too large.
   * @throws HttpProblem 403 if another site sent the form.
   * @throws StaleForm (also an HttpProblem 403) if the token of the form is wrong, but the browser reports
   * that this site sent the form.
   */
  async readForm(request: IncomingMessage, maxBytes = MAX_FORM_BYTES): Promise<URLSearchParams> {
    const [type = ''] = (request.headers['content-type'] ?? '').split(';');
    if (type.trim().toLowerCase() !== 'application/x-www-form-urlencoded')
      throw new HttpProblem(415, 'Unsupported Media Type: expected a form');
    if (!isSameOrigin(request)) throw new HttpProblem(403, CROSS_SITE);
    const form = new URLSearchParams((await readBody(request, maxBytes)).toString());
    if (this.isFormToken(request, form.get('csrf'))) return form;
    const isOwn = request.headers['sec-fetch-site'] === 'same-origin';
    throw isOwn ? new StaleForm(form) : new HttpProblem(403, CROSS_SITE);
  }

  isFormToken(request: IncomingMessage, token: string | null): boolean {
    return isSameSecret(token ?? '', this.#csrf(this.#idOf(request) ?? newId()));
  }

  /** Signs a visitor in. Returns headers for the response. */
  signIn(request: IncomingMessage, who: User): Readonly<Record<string, string>> {
    this.signOut(request);
    const now = Date.now();
    for (const [id, { expiresAt }] of this.#sessions)
      if (expiresAt <= now || this.#sessions.size >= MAX_SESSIONS) this.#sessions.delete(id);
    const id = newId();
    this.#sessions.set(id, { user: who, expiresAt: now + SESSION_MS });
    return this.#cookie(request, id);
  }

  /** Signs a visitor out. Returns headers for the response. */
  signOut(request: IncomingMessage): Readonly<Record<string, string>> {
    this.#sessions.delete(this.#idOf(request) ?? '');
    return this.#cookie(request, '', '; Max-Age=0');
  }

  /**
   * Stores a message that the page at `location` shows after a redirect. The fragment of `location` is the id
   * of the HTML element that shows the message.
   */
  setMessage(request: IncomingMessage, location: string, message: Message): void {
    const session = this.#session(this.#idOf(request) ?? '');
    if (session === undefined) return;
    const { pathname: path, hash } = new URL(location, 'http://localhost');
    session.said = { message, path, id: hash.slice(1), until: Date.now() + MESSAGE_MS };
  }

  /** Returns the message of a page. The message is removed when another page is shown, or after a minute. */
  message(request: IncomingMessage, path: string): Said | undefined {
    const session = this.#session(this.#idOf(request) ?? '');
    const said = session?.said;
    if (said?.path === path && said.until > Date.now()) return said;
    // Requests with HEAD, and requests by the page's script, show no message, so they do not remove one.
    const isShown = request.method !== 'HEAD' && request.headers['sec-fetch-dest'] !== 'empty';
    if (session !== undefined && isShown) session.said = undefined;
    return undefined;
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
    const cookie = `${this.#cookieName(request)}=${id}; Path=${this.#path}; HttpOnly; SameSite=${this.#sameSite}${rest}`;
    return { 'Set-Cookie': cookie };
  }

  /**
   * Returns the name of the cookie. It contains the port, because cookies ignore ports, and services on one
   * machine must not share it.
   */
  #cookieName({ socket }: IncomingMessage): string {
    return `${this.#name}-${socket.localPort}`;
  }
}

const ID = /^[\w-]{43}$/;

function newId(): string {
  return randomBytes(32).toString('base64url');
}

const CROSS_SITE =
  'This form did not come from a page that you have open here, or you have signed out since. ' +
  'Nothing was changed. Go back, load the page again, and send the form once more.';

/**
 * Returns whether a request comes from a page of this service, by the headers that browsers add. For forms of
 * these pages, `Origin` is `null`, because the pages send no referrer.
 */
function isSameOrigin({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'] ?? 'same-origin';
  const { origin = 'null', host } = headers;
  return (
    (site === 'same-origin' || site === 'none') &&
    (origin === 'null' || origin === `http://${host}`)
  );
}
