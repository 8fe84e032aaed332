import { OptionError } from '../base/errors.js';
import { type Account, checkAccount } from './account.js';
import {
  BASIC_ADDRESSES,
  isPathSegment,
  type SettingName,
  type UrlSettingName,
} from './settings.js';

export interface ServiceUrlOptions {
  /** What the URL is used for, such as "replay streams". Part of error messages. */
  readonly purpose: string;
  /** Values to use instead of the account's settings. */
  readonly given?: Readonly<Partial<Record<SettingName, string | undefined>>>;
  /**
   * Settings that the call needs in addition to those in the path. @default the email and password, if
   * requests to this address carry them
   */
  readonly needs?: readonly SettingName[];
}

/**
 * Builds a URL of the service.
 *
 * @param base The name of the setting that holds the base address.
 * @param path The path below the base address, without a leading slash. `{account}` is replaced with the
 *   value of the setting `account`, and so on.
 * @throws OptionError if settings are missing or invalid, or if an environment variable holds an invalid
 *   proxy. The error names the settings or the variable.
 */
export function serviceUrl(
  account: Account,
  base: UrlSettingName,
  path: string,
  { purpose, given = {}, needs = BASIC_ADDRESSES.includes(base) ? LOGIN : [] }: ServiceUrlOptions,
): URL {
  checkAccount(account);
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as SettingName);
  const missing = names.filter(name => given[name] === undefined);
  account.needAll([base, ...missing, ...needs], purpose);
  const filled = path.replace(/\{(\w+)\}/g, (_, name: SettingName) =>
    pathSegment(name, String(given[name] ?? account.need(name, purpose))),
  );
  const url = new URL(account.need(base, purpose));
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${filled}`;
  account.connections.proxyFor(url);
  return url;
}

const LOGIN: readonly SettingName[] = ['email', 'password'];

/**
 * Encodes a name as a segment of a path.
 *
 * @throws OptionError if the name cannot be a segment, for example `..`.
 */
export function pathSegment(option: string, name: unknown): string {
  if (typeof name !== 'string' || name === '' || !isPathSegment(name))
    throw new OptionError(option, `\`${option}\` must be a name, got ${String(name)}`);
  return encodeURIComponent(name);
}
