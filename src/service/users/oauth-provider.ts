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
  /** The callback URL, or `oob`. */
  readonly callback: string;
  /** The time at which the sign-in expires, in epoch milliseconds. */
  readonly expiresAt: number;
}

/**
 * The next step after consent. The browser is redirected to a URL, or the user types a PIN into the
 * application.
 */
export type Approval = { readonly redirect: string } | { readonly pin: string };

/** A user's grant to an application. */
export interface UserGrant {
  readonly user: User;
  readonly application: Application;
  /** The time of the consent in epoch milliseconds. */
  readonly grantedAt: number;
}

interface ProviderContext {
  readonly settings: ServiceSettings;
  readonly clock: Clock;
  readonly quotas: Quotas;
  archive(): Promise<Archive>;
}

/**
 * A request token. The service issues it in step 1 of a sign-in. The user approves it in step 2. The
 * application exchanges it for an access token in step 3.
 */
interface RequestToken extends PendingSignIn {
  readonly token: string;
  readonly secret: string;
  approved?: { readonly verifier: string; readonly grant: Grant } | undefined;
  isBeingApproved?: boolean | undefined;
  wrongVerifiers: number;
}

/** The maximum number of request tokens in memory. If there are more, the oldest is dropped. */
const MAX_TOKENS = 10_000;
/**
 * The number of wrong verifiers after which a request token becomes invalid. This prevents guessing, because a
 * PIN has only 7 digits.
 */
const MAX_WRONG_VERIFIERS = 5;

/**
 * The applications, the users, and the grants of users to applications. The users are the authors of the
 * archive. Endpoints and pages use this object. Tests and scripts can also use it to sign in without a
 * browser.
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
  /** The request tokens, in the order of their creation. */
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

  /**
   * Returns the sign-in of a request token; `undefined` if the token is unknown or expired, or if the user
   * has already approved or denied it.
   */
  pending(requestToken: string): PendingSignIn | undefined {
    const request = this.#find(requestToken);
    if (request === undefined || isDecided(request)) return undefined;
    const { application, callback, expiresAt } = request;
    return { application, callback, expiresAt };
  }

  #find(requestToken: string): RequestToken | undefined {
    const request = this.#requests.get(requestToken);
    return request && request.expiresAt > this.#context.clock.now() ? request : undefined;
  }

  /**
   * Returns the user with a handle, with or without `@`, if the password is right.
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

  /**
   * @internal Returns a user who can sign in, for the hint on the sign-in page; `undefined` if the archive is
   * empty.
   */
  async exampleUser(): Promise<User | undefined> {
    const { archive, clock } = this.#context;
    return (await newestPost(await archive(), clock.now()))?.activity.author;
  }

  isGranted(user: User, application: Application): boolean {
    return this.#grants.of(user, application.key) !== undefined;
  }

  /**
   * Records the user's consent. When this resolves, the grant is stored, even if the application never
   * fetches its access token.
   *
   * @throws HttpProblem 401 if the request token is unknown or expired, or if the user has already approved
   * or denied it.
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
   * @returns The URL to redirect the browser to. `undefined` if the sign-in has no callback URL (`oob`).
   * @throws HttpProblem 401 if the request token is unknown or expired, or if the user has already approved
   * or denied it.
   */
  deny(requestToken: string): string | undefined {
    const { callback } = this.#undecided(requestToken);
    this.#requests.delete(requestToken);
    return callback === OUT_OF_BAND ? undefined : withQuery(callback, { denied: requestToken });
  }

  #undecided(requestToken: string): RequestToken {
    const request = this.#find(requestToken);
    if (request !== undefined && !isDecided(request)) return request;
    throw new HttpProblem(401, 'The request token is unknown, has expired or was used');
  }

  /** Returns the grants of a user, or of all users. Skips revoked grants, and grants of deleted applications. */
  grantsOf(user?: Pick<User, 'id'>): readonly UserGrant[] {
    return this.#grants.all().flatMap(grant => {
      const registered = this.#registered.get(grant.key);
      if (registered === undefined || grant.revoked) return [];
      if (user !== undefined && grant.user.id !== user.id) return [];
      const { application } = registered;
      return [{ user: grant.user, application, grantedAt: grant.grantedAt }];
    });
  }

  /** Revokes a grant. After that, its access token gives no access. Returns whether the grant existed. */
  revoke(user: Pick<User, 'id'>, application: Application): Promise<boolean> {
    return this.#grants.revoke(user, application.key);
  }

  /** @internal Returns the application that has this consumer key. */
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

  /** @internal Returns the secret of an application's request token. */
  requestSecret(token: string, application: Application): string | undefined {
    const request = this.#find(token);
    return request?.application.key === application.key ? request.secret : undefined;
  }

  /**
   * @internal Exchanges a request token and its verifier for the grant, which is step 3 of a sign-in. After
   * that, the token and the verifier are invalid. A token also becomes invalid after several wrong verifiers.
   *
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

  /** @internal Returns the grant of an application's access token, even if it was revoked. */
  grantWith(token: string, application: Application): Grant | undefined {
    const grant = this.#grants.find(token);
    return grant?.key === application.key ? grant : undefined;
  }

  /** @internal Returns the grants of all users, with their tokens. */
  kept(): ReturnType<Grants['kept']> {
    return this.#grants.kept();
  }

  /** @internal Replaces the grants of all users, and ends pending sign-ins. @throws StorageError */
  replace(kept?: Awaited<ReturnType<Grants['kept']>>): Promise<void> {
    this.#requests.clear();
    return this.#grants.replace(kept);
  }

  /** @internal Loads the stored grants. @throws StorageError if they cannot be read. */
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
