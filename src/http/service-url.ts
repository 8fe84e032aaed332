import { OptionError } from '../base/errors.js';
import { type Account, checkAccount } from './account.js';
import {
  BASIC_ADDRESSES,
  isPathSegment,
  type SettingName,
  type UrlSettingName,
} from './settings.js';

export interface ServiceUrlOptions {
  /** What the address is for, in the plural, for messages. */
  readonly purpose: string;
  /** Values to use instead of the account's settings. */
  readonly given?: Readonly<Partial<Record<SettingName, string | undefined>>>;
  /** Other settings that the call needs. @default the email and password, where requests carry them */
  readonly needs?: readonly SettingName[];
}

/**
 * An address of the service.
 *
 * @param base The setting that has the base address.
 * @param path The path below it, without a first slash, in which `{account}` stands for that setting.
 * @throws OptionError that names all settings that are missing, or the variable of a proxy that is wrong.
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

/** The settings that make Basic credentials. */
const LOGIN: readonly SettingName[] = ['email', 'password'];

/**
 * A name as a segment of a path.
 *
 * @throws OptionError for a name that no segment can be, such as `..`.
 */
export function pathSegment(option: string, name: unknown): string {
  if (typeof name !== 'string' || name === '' || !isPathSegment(name))
    throw new OptionError(option, `\`${option}\` must be a name, got ${String(name)}`);
  return encodeURIComponent(name);
}
