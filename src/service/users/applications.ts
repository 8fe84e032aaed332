import { isLoopback } from '../../is-loopback.js';
import { type OAuthSettings, OUT_OF_BAND, webAddress } from './oauth-options.js';

/** An application as users and the console see it. */
export interface Application {
  /** Digits, as in the URL of its page on the developer site. */
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly websiteUrl: string;
  /** Whether the operator has approved its access to engagement totals. */
  readonly approved: boolean;
}

/** With the secret, which only the application knows. */
export interface RegisteredApplication {
  readonly application: Application;
  readonly secret: string;
}

/** The two applications of every service: one approved, one not. */
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
 * Whether a callback is registered. The query is not compared. By default, `oob` and all loopback
 * addresses with any port are registered.
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

/** The callback with parameters added to its query. */
export function withQuery(callback: string, parameters: Readonly<Record<string, string>>): string {
  const url = new URL(callback);
  // The existing query stays as it is, byte for byte.
  const existing = url.search.slice(1);
  const added = String(new URLSearchParams(parameters));
  url.search = existing === '' ? added : `${existing}&${added}`;
  return url.href;
}
