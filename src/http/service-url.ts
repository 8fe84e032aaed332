import { OptionError } from '../base/errors.js';
import { type Account, checkAccount } from './account.js';
import {
  BASIC_ADDRESSES,
  isPathSegment,
  type SettingName,
  type UrlSettingName,
} from './settings.js';

export interface ServiceUrlOptions {
  /** The plural noun for what the address is used for, for messages. */
  readonly purpose: string;
  /** Values that replace the account's settings. */
  readonly given?: Readonly<Partial<Record<SettingName, string | undefined>>>;
  /** Other settings that the call needs. @default the email and password, if requests to the address carry them */
  readonly needs?: readonly SettingName[];
}

/**
 * Builds an address of the service.
 *
 * @param base The setting with the base address.
 * @param path The path below the base address, without a leading slash. `{account}` is replaced by the
 * setting `account`, and so on.
 * @throws OptionError that names all missing settings, or the variable of an invalid proxy.
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

/** The settings of the Basic credentials. */
const LOGIN: readonly SettingName[] = ['email', 'password'];

/**
 * Encodes a name as a segment of a path.
 *
 * @throws OptionError for a name that cannot be a segment, such as `..`.
 */
export function pathSegment(option: string, name: unknown): string {
  if (typeof name !== 'string' || name === '' || !isPathSegment(name))
    throw new OptionError(option, `\`${option}\` must be a name, got ${String(name)}`);
  return encodeURIComponent(name);
}
