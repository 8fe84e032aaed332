import { type Checked, type OptionTable, secret, special, text } from '../../check.js';

/** The applications and users that the service knows. */
export interface OAuthOptions {
  /** The consumer key of the application that may request engagement totals. @default 'local-application' */
  readonly consumerKey?: string | undefined;
  /** The secret of that application, which signs its requests. @default 'local-application-secret' */
  readonly consumerSecret?: string | undefined;
  /** The consumer key of an application that the operator has not approved. @default 'unapproved-application' */
  readonly unapprovedConsumerKey?: string | undefined;
  /** The secret of that application, which signs its requests. @default 'unapproved-application-secret' */
  readonly unapprovedConsumerSecret?: string | undefined;
  /**
   * Callback addresses registered for the applications; `oob` displays a PIN. The default is `oob`
   * and every address of this machine.
   */
  readonly callbackUrls?: readonly string[] | undefined;
  /** Password of every author of the archive; by default the account's `password`. */
  readonly userPassword?: string | undefined;
}

export type OAuthSettings = Omit<Checked<OAuthOptions, typeof OAUTH_OPTIONS>, 'userPassword'> & {
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

/** Instead of a callback URL: the page shows a PIN, for programs that a browser cannot redirect to. */
export const OUT_OF_BAND = 'oob';

/** An http(s) URL without credentials, and without a fragment, after which added parameters are lost. */
export function webAddress(text: string): URL | undefined {
  if (!/^https?:\/\//i.test(text) || /[\s\\]/.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  return url.username === '' && url.password === '' && !text.includes('#') ? url : undefined;
}
