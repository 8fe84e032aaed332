import { randomBytes, randomInt } from 'node:crypto';
import type { Archive } from '../archive/archive.js';
import { findAuthor, newestPost } from '../archive/look-up-post.js';
import type { Clock } from '../clock.js';
import { isSameSecret } from '../http/check-access.js';
import { HttpProblem } from '../http/http-problem.js';
import { checkRate, type Quotas, type RateWindow, rateExceeded } from '../http/quotas.js';
import type { ServiceSettings } from '../service-options.js';
import {
  type Application,
  isRegistered,
  OUT_OF_BAND,
  type RegisteredApplication,
  registeredApplications,
  withQuery,
} from './applications.js';
import { type Grant, Grants, type User } from './grants.js';

/** A sign-in that waits for the user's decision. */
export interface PendingSignIn {
  readonly application: Application;
  /** A URL, or `oob`. */
  readonly callback: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** After consent: where the browser is redirected, or the PIN that the user types into the application. */
export type Approval = { readonly redirect: string } | { readonly pin: string };

/** What a user has granted to an application. */
export interface UserGrant {
  readonly user: User;
  readonly application: Application;
  /** Epoch milliseconds. */
  readonly grantedAt: number;
}

interface ProviderContext {
  readonly settings: ServiceSettings;
  readonly clock: Clock;
  readonly quotas: Quotas;
  archive(): Promise<Archive>;
}

/** A request token: issued in step 1 of a sign-in, approved by the user in step 2, exchanged in step 3. */
interface RequestToken extends PendingSignIn {
  readonly token: string;
  readonly secret: string;
  approved?: { readonly verifier: string; readonly grant: Grant } | undefined;
  /** An approval is being stored. */
  isBeingApproved?: boolean | undefined;
  wrongVerifiers: number;
}

/** Request tokens in memory. Beyond this number, the oldest is dropped. */
const MAX_TOKENS = 10_000;
/** Stops guessing: a PIN has only seven digits. */
const MAX_WRONG_VERIFIERS = 5;

/**
 * The applications, the users, who are the authors of the archive, and the grants of users to
 * applications. Endpoints and pages use it; tests and scripts can sign in here without a browser.
 *
 * @example
 * const { oauth } = service;
 * const user = await oauth.signIn('luna_reads12', 'local-service');
 * const approval = user && (await oauth.approve(requestToken, user));
 */
export class OAuthProvider {
  readonly applications: readonly Application[];
  readonly #context: ProviderContext;
  readonly #signIns: RateWindow;
  readonly #registered: ReadonlyMap<string, RegisteredApplication>;
  /** Request tokens by token, in order of creation. */
  readonly #requests = new Map<string, RequestToken>();
  readonly #grants: Grants;

  constructor(context: ProviderContext) {
    const { settings, quotas } = context;
    const registered = registeredApplications(settings);
    this.#context = context;
    this.#signIns = quotas.window('signInRate');
    this.applications = registered.map(({ application }) => application);
    this.#registered = new Map(registered.map(one => [one.application.key, one]));
    this.#grants = new Grants(settings.stateFolder);
  }

  /** The sign-in of a request token; undefined if the token is unknown, expired or decided. */
  pending(requestToken: string): PendingSignIn | undefined {
    const request = this.#find(requestToken);
    if (request === undefined || isDecided(request)) return undefined;
    const { application, callback, expiresAt } = request;
    return { application, callback, expiresAt };
  }

  /** Approved or not, unless expired. */
  #find(requestToken: string): RequestToken | undefined {
    const request = this.#requests.get(requestToken);
    return request && request.expiresAt > this.#context.clock.now() ? request : undefined;
  }

  /**
   * The user with a handle, with or without `@`, if the password is right.
   *
   * @throws HttpProblem 429 with `Retry-After` after too many attempts by anyone.
   */
  async signIn(handle: string, password: string): Promise<User | undefined> {
    const { settings, clock, archive } = this.#context;
    checkRate([this.#signIns], rateExceeded('to sign in'));
    await this.open();
    if (!isSameSecret(password, settings.userPassword)) return undefined;
    return findAuthor(await archive(), handle.trim(), clock.now());
  }

  /** @internal A user that can sign in, for the hint of the page; undefined if the archive is empty. */
  async exampleUser(): Promise<User | undefined> {
    const { archive, clock } = this.#context;
    return (await newestPost(await archive(), clock.now()))?.activity.author;
  }

  isGranted(user: User, application: Application): boolean {
    return this.#grants.of(user, application.key) !== undefined;
  }

  /**
   * Records the user's consent. The grant is stored when this resolves, even if the application never
   * fetches its access token.
   *
   * @throws HttpProblem 401 if the request token is unknown, expired or decided.
   */
  async approve(requestToken: string, user: User): Promise<Approval> {
    const request = this.#undecided(requestToken);
    const { application, callback } = request;
    const isPin = callback === OUT_OF_BAND;
    const verifier = isPin
      ? String(randomInt(10_000_000)).padStart(7, '0')
      : randomBytes(24).toString('base64url');
    request.isBeingApproved = true;
    try {
      const now = this.#context.clock.now();
      request.approved = { verifier, grant: await this.#grants.grant(user, application.key, now) };
    } finally {
      request.isBeingApproved = false;
    }
    if (isPin) return { pin: verifier };
    const parameters = { oauth_token: requestToken, oauth_verifier: verifier };
    return { redirect: withQuery(callback, parameters) };
  }

  /**
   * Records the user's refusal, which ends the request token.
   *
   * @returns The URL to redirect the browser to; undefined for `oob`.
   * @throws HttpProblem 401 as `approve`.
   */
  deny(requestToken: string): string | undefined {
    const { callback } = this.#undecided(requestToken);
    this.#requests.delete(requestToken);
    return callback === OUT_OF_BAND ? undefined : withQuery(callback, { denied: requestToken });
  }

  /** @throws HttpProblem 401 */
  #undecided(requestToken: string): RequestToken {
    const request = this.#find(requestToken);
    if (request !== undefined && !isDecided(request)) return request;
    throw new HttpProblem(401, 'The request token is unknown, has expired or was used');
  }

  /** The grants of a user, or of all users. */
  grantsOf(user?: Pick<User, 'id'>): readonly UserGrant[] {
    return this.#grants.all().flatMap(grant => {
      const registered = this.#registered.get(grant.key);
      if (registered === undefined || grant.revoked) return [];
      if (user !== undefined && grant.user.id !== user.id) return [];
      const { application } = registered;
      return [{ user: grant.user, application, grantedAt: grant.grantedAt }];
    });
  }

  /** Revokes a grant, after which its access token gives no access. Returns whether it existed. */
  revoke(user: Pick<User, 'id'>, application: Application): Promise<boolean> {
    return this.#grants.revoke(user, application.key);
  }

  /** @internal The application with a consumer key. */
  registered(key: string): RegisteredApplication | undefined {
    return this.#registered.get(key);
  }

  /**
   * @internal Issues a request token: step 1 of a sign-in.
   * @throws HttpProblem 403 if the callback is not registered.
   */
  issue(application: Application, callback: string): RequestToken {
    const { settings, clock } = this.#context;
    if (!isRegistered(callback, settings.callbackUrls))
      throw new HttpProblem(
        403,
        'Callback URL not approved for this client application. Approved callback URLs are those ' +
          'registered for it',
      );
    for (const [token, { expiresAt }] of this.#requests)
      if (expiresAt <= clock.now() || this.#requests.size >= MAX_TOKENS)
        this.#requests.delete(token);
    const request: RequestToken = {
      token: randomBytes(21).toString('base64url'),
      secret: randomBytes(30).toString('base64url'),
      application,
      callback,
      expiresAt: clock.now() + settings.limits.requestTokenMs,
      wrongVerifiers: 0,
    };
    this.#requests.set(request.token, request);
    return request;
  }

  /** @internal The secret of an application's request token. */
  requestSecret(token: string, application: Application): string | undefined {
    const request = this.#find(token);
    return request?.application.key === application.key ? request.secret : undefined;
  }

  /**
   * @internal Exchanges a request token and its verifier, which end, for the grant: step 3. A token also ends after
   * several wrong verifiers.
   * @throws HttpProblem 401
   */
  exchange(token: string, verifier: string): Grant {
    const request = this.#find(token);
    if (request !== undefined && request.approved === undefined)
      throw new HttpProblem(401, 'The user has not authorized this request token yet');
    if (request?.approved !== undefined) {
      const { approved } = request;
      if (isSameSecret(approved.verifier, verifier)) {
        this.#requests.delete(token);
        return approved.grant;
      }
      request.wrongVerifiers++;
      if (request.wrongVerifiers >= MAX_WRONG_VERIFIERS) this.#requests.delete(token);
    }
    throw new HttpProblem(401, 'Invalid oauth_verifier for this request token');
  }

  /** @internal The grant of an application's access token, even if revoked. */
  grantWith(token: string, application: Application): Grant | undefined {
    const grant = this.#grants.find(token);
    return grant?.key === application.key ? grant : undefined;
  }

  /** @internal What all users have granted, with the tokens. */
  kept(): ReturnType<Grants['kept']> {
    return this.#grants.kept();
  }

  /** @internal Replaces what users have granted, and ends pending sign-ins. @throws StorageError */
  replace(kept?: ReturnType<Grants['kept']>): Promise<void> {
    this.#requests.clear();
    return this.#grants.replace(kept);
  }

  /** @internal @throws StorageError if the stored grants cannot be read. */
  open(): Promise<void> {
    return this.#grants.open();
  }

  /** @internal Ends pending sign-ins. The provider can be opened again. */
  close(): Promise<void> {
    this.#requests.clear();
    return this.#grants.close();
  }
}

function isDecided({ approved, isBeingApproved }: RequestToken): boolean {
  return approved !== undefined || isBeingApproved === true;
}
