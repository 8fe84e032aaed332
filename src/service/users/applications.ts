import { type Checked, type OptionTable, secret, special, text } from '../../base/check.js';
import { isLoopback } from '../../base/is-loopback.js';

/** Options of the service for the applications and users that it knows. */
export interface OAuthOptions {
  /** The consumer key of the application that may request engagement totals. @default 'local-application' */
  readonly consumerKey?: string | undefined;
  /**
   * The secret with which the application with `consumerKey` signs its requests.
   *
   * @default 'local-application-secret'
   */
  readonly consumerSecret?: string | undefined;
  /** The consumer key of an application that the operator has not approved. @default 'unapproved-application' */
  readonly unapprovedConsumerKey?: string | undefined;
  /** The secret of the application with `unapprovedConsumerKey`. @default 'unapproved-application-secret' */
  readonly unapprovedConsumerSecret?: string | undefined;
  /**
   * The callback URLs that are registered for the applications. With the value `oob`, the user gets a PIN
   * instead of a redirect. By default, `oob` and all URLs of loopback addresses are registered.
   */
  readonly callbackUrls?: readonly string[] | undefined;
  /** The password of every author of the archive. By default, the account's `password`. */
  readonly userPassword?: string | undefined;
}

type OAuthSettings = Omit<Checked<OAuthOptions, typeof OAUTH_OPTIONS>, 'userPassword'> & {
  readonly userPassword: string;
};

export const OAUTH_OPTIONS = {
  consumerKey: text('application that asks for engagement totals', 'local-application'),
  consumerSecret: secret('secret of that application', 'local-application-secret'),
  unapprovedConsumerKey: text('application that is not approved', 'unapproved-application'),
  unapprovedConsumerSecret: secret('secret of that application', 'unapproved-application-secret'),
  callbackUrls: special<readonly string[]>(
    'callback registered for both, repeatable (default: oob and any of this machine)',
    "'oob' or addresses that begin with http:// or https:// and have no query or fragment",
    value => Array.isArray(value) && value.length > 0 && value.every(isCallback),
  ),
  userPassword: secret('password of the authors of the archive (default: that of the account)'),
} as const satisfies OptionTable<OAuthOptions>;

function isCallback(value: unknown): boolean {
  return value === OUT_OF_BAND || (typeof value === 'string' && webAddress(value)?.search === '');
}

/**
 * The value that programs without a web page use instead of a callback URL. The user then gets a PIN and
 * types it into the program.
 */
export const OUT_OF_BAND = 'oob';

/**
 * Parses an http(s) URL. Refuses a URL with credentials. Also refuses a URL with a fragment, because
 * parameters that are added after a fragment would be lost.
 */
function webAddress(text: string): URL | undefined {
  if (!/^https?:\/\//i.test(text) || /[\s\\]/.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  return url.username === '' && url.password === '' && !text.includes('#') ? url : undefined;
}

/** An application as users and the console see it, without its secret. */
export interface Application {
  /** The numeric id. It is also in the URL of the application's page on the developer site. */
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly websiteUrl: string;
  /** Whether the operator has approved the application's access to engagement totals. */
  readonly approved: boolean;
}

export interface RegisteredApplication {
  readonly application: Application;
  readonly secret: string;
}

export function registeredApplications(settings: OAuthSettings): readonly RegisteredApplication[] {
  const websiteUrl = 'http://127.0.0.1/';
  const approved = { id: '10000001', name: 'Local application', websiteUrl, approved: true };
  const other = { id: '10000002', name: 'Unapproved application', websiteUrl, approved: false };
  return [
    { application: { ...approved, key: settings.consumerKey }, secret: settings.consumerSecret },
    {
      application: { ...other, key: settings.unapprovedConsumerKey },
      secret: settings.unapprovedConsumerSecret,
    },
  ];
}

/**
 * Returns whether a callback is registered. Ignores the query of the callback. By default, `oob` and all URLs
 * of loopback addresses are registered.
 */
export function isRegistered(callback: string, registered: readonly string[] | undefined): boolean {
  if (callback === OUT_OF_BAND) return registered?.includes(OUT_OF_BAND) ?? true;
  const url = webAddress(callback);
  if (url === undefined) return false;
  if (registered === undefined) return isLoopback(url.hostname);
  return registered.some(address => {
    const known = webAddress(address);
    return known !== undefined && known.origin === url.origin && known.pathname === url.pathname;
  });
}

export function withQuery(callback: string, parameters: Readonly<Record<string, string>>): string {
  const url = new URL(callback);
  // `url.searchParams.append` would encode the existing query again, so that its bytes could change.
  const existing = url.search.slice(1);
  const added = String(new URLSearchParams(parameters));
  url.search = existing === '' ? added : `${existing}&${added}`;
  return url.href;
}
