import { isLoopback } from '../../base/is-loopback.js';
import { type ClientLimits, clientLimits, type Limits } from './service-limits.js';

/**
 * The URLs of a running service, the names of its account and its streams, and the credentials that it accepts.
 * Can be passed to `account()`.
 */
export interface Addresses {
  /** The URL for search and counts, `{base_url}` in the service's documentation. */
  readonly baseUrl: string;
  /** The URL for jobs, `{historical_url}` in the service's documentation. */
  readonly historicalUrl: string;
  /** The URL for replay, `{replay_stream_url}` in the service's documentation. */
  readonly replayStreamUrl: string;
  /** The URL for the rules of the replay stream, `{rules_url}` in the service's documentation. */
  readonly rulesUrl: string;
  /** The URL for the compliance stream, `{compliance_stream_url}` in the service's documentation. */
  readonly complianceStreamUrl: string;
  /** The URL for usage, `{account_api_url}` in the service's documentation. */
  readonly accountApiUrl: string;
  /** The URL for the sign-in of users, `{oauth_url}` in the service's documentation. */
  readonly oauthUrl: string;
  /** The URL for engagement totals, `{data_url}` in the service's documentation. */
  readonly dataUrl: string;
  /** The URL of the account console, `{console_url}` in the service's documentation. */
  readonly consoleUrl: string;
  /** The URL of the status page, `{status_url}` in the service's documentation. */
  readonly statusUrl: string;
  /**
   * Identifies the posts of this service in checkpoints. Its URL would not identify them, because a local
   * service gets a different port at each start. `undefined` if the caller passed its own `Archive`.
   */
  readonly localService: string | undefined;
  readonly account: string;
  /** The label of the search endpoints. */
  readonly label: string;
  /** The label of replay streams of any type, and of their rules. */
  readonly streamLabel: string;
  /** The label of the compliance stream. */
  readonly complianceLabel: string;
  /** The path segment of the data publisher. */
  readonly publisher: string;
  readonly email: string;
  readonly password: string;
  /** The consumer key of the application that may request engagement totals. */
  readonly consumerKey: string;
  readonly consumerSecret: string;
  /** The consumer key of an application that the operator has not approved. */
  readonly unapprovedConsumerKey: string;
  readonly unapprovedConsumerSecret: string;
  /**
   * Contains the origin of the service if it is an `http` origin that is not loopback. Clients refuse such an
   * origin unless it is in this list.
   */
  readonly insecureOrigins: readonly string[];
  /** The token that the control path and the console require; `undefined` if they need none. */
  readonly token: string | undefined;
  /** Returns the current time of the service in epoch milliseconds. */
  readonly serviceTime: () => number;
  /**
   * The rates that are more relaxed than in the real service. Clients use them instead of their default
   * rates.
   */
  readonly limits: ClientLimits;
}

type Names = { readonly limits: Limits } & Omit<
  Addresses,
  `${string}Url` | 'insecureOrigins' | 'serviceTime' | 'limits'
>;

export function addressesAt(url: string, names: Names, serviceTime: () => number): Addresses {
  const { protocol, hostname, origin } = new URL(url);
  return {
    baseUrl: url,
    historicalUrl: url,
    replayStreamUrl: url,
    rulesUrl: url,
    complianceStreamUrl: url,
    accountApiUrl: url,
    oauthUrl: url,
    dataUrl: url,
    consoleUrl: `${url}/console`,
    statusUrl: `${url}/status`,
    localService: names.localService,
    account: names.account,
    label: names.label,
    streamLabel: names.streamLabel,
    complianceLabel: names.complianceLabel,
    publisher: names.publisher,
    email: names.email,
    password: names.password,
    consumerKey: names.consumerKey,
    consumerSecret: names.consumerSecret,
    unapprovedConsumerKey: names.unapprovedConsumerKey,
    unapprovedConsumerSecret: names.unapprovedConsumerSecret,
    insecureOrigins: protocol === 'http:' && !isLoopback(hostname) ? [origin] : [],
    token: names.token,
    serviceTime,
    limits: clientLimits(names.limits),
  };
}

/** Returns one line of JSON with names in snake case: `base_url`, `account`, `label` ... */
export function addressesLine(addresses: Addresses): string {
  const texts = Object.entries(addresses).filter(([, value]) => typeof value === 'string');
  const entries = texts.map(([name, value]) => [
    name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`),
    value,
  ]);
  return JSON.stringify(Object.fromEntries(entries));
}
