import type { Check } from '../option-check.js';

export interface OAuthOptions {
  /** Of the application that may ask for engagement totals. */
  readonly consumerKey?: string | undefined;
  readonly consumerSecret?: string | undefined;
  /** Of an application whose id the operator has not approved (service.md 5 rule 2). */
  readonly unapprovedConsumerKey?: string | undefined;
  readonly unapprovedConsumerSecret?: string | undefined;
  /**
   * Callback addresses registered for the applications, `oob` for the display of a PIN among them.
   * Without them, `oob` and every address of this machine will do.
   */
  readonly callbackUrls?: readonly string[] | undefined;
  /** With which every author of the archive signs in; that of the console where absent. */
  readonly userPassword?: string | undefined;
}

export interface OAuthSettings {
  readonly consumerKey: string;
  readonly consumerSecret: string;
  readonly unapprovedConsumerKey: string;
  readonly unapprovedConsumerSecret: string;
  readonly callbackUrls: readonly string[] | undefined;
  readonly userPassword: string;
}

/** @param password That of the console. */
export function oauthSettings(options: OAuthOptions, password: string): OAuthSettings {
  return {
    consumerKey: options.consumerKey ?? 'local-application',
    consumerSecret: options.consumerSecret ?? 'local-application-secret',
    unapprovedConsumerKey: options.unapprovedConsumerKey ?? 'unapproved-application',
    unapprovedConsumerSecret: options.unapprovedConsumerSecret ?? 'unapproved-application-secret',
    callbackUrls: options.callbackUrls,
    userPassword: options.userPassword ?? password,
  };
}

const text: Check = [value => typeof value === 'string' && value !== '', 'text'];

export const OAUTH_CHECKS: Record<keyof OAuthOptions, Check> = {
  consumerKey: text,
  consumerSecret: text,
  unapprovedConsumerKey: text,
  unapprovedConsumerSecret: text,
  callbackUrls: [
    value => Array.isArray(value) && value.length > 0 && value.every(isCallback),
    "'oob' or addresses that begin with http:// or https:// and have no query or fragment",
  ],
  userPassword: text,
};

function isCallback(value: unknown): boolean {
  if (value === 'oob') return true;
  if (typeof value !== 'string' || !URL.canParse(value)) return false;
  const { protocol, username, password, search, hash } = new URL(value);
  const isWeb = protocol === 'http:' || protocol === 'https:';
  return isWeb && username === '' && password === '' && search === '' && hash === '';
}
