import { isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';
import { OptionError } from '../base/errors.js';
import { isLoopback } from '../base/is-loopback.js';
import { Secret } from '../base/secret.js';

export interface HttpProxy {
  /** The address of the proxy, without credentials. */
  readonly url: URL;
  readonly variable: string;
  /** The value of the header `Proxy-Authorization`. */
  readonly authorization: Secret | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the proxy for connections to a host, by the rules of undici's `EnvHttpProxyAgent`: `HTTPS_PROXY`
 * names the proxy for https. `HTTP_PROXY` names the proxy for http, and also for https if `HTTPS_PROXY` is
 * not set. A variable with a lower-case name takes precedence over the same name in upper case. An empty
 * variable counts as not set. Connections to loopback addresses and to hosts in `NO_PROXY` use no proxy.
 *
 * @throws OptionError if the value of the variable is not the address of a proxy.
 */
export function proxyFor(target: URL, environment: Environment): HttpProxy | undefined {
  if (isLoopback(target.hostname)) return undefined;
  const variable = nameOf(
    target.protocol === 'https:' ? ['https_proxy', 'http_proxy'] : ['http_proxy'],
    environment,
  );
  if (variable === undefined || isExcepted(target, environment)) return undefined;
  return parseProxy(variable, environment[variable]?.trim() ?? '');
}

/**
 * Returns the name of the first variable that is set. Tries each name in lower case, then in upper
 * case.
 */
function nameOf(names: readonly string[], environment: Environment): string | undefined {
  return names
    .flatMap(name => [name, name.toUpperCase()])
    .find(name => (environment[name] ?? '').trim() !== '');
}

function isExcepted(target: URL, environment: Environment): boolean {
  const variable = nameOf(['no_proxy'], environment);
  const hostname = target.hostname.replace(/\.$/, '');
  const entries = (variable === undefined ? '' : (environment[variable] ?? '')).split(/[,\s]+/);
  return entries.some(entry => {
    if (entry === '*') return true;
    const [, name = '', port] = isIPv6(entry) ? ['', entry] : (ENTRY.exec(entry) ?? []);
    const excepted = normalized(name.replace(/^\*?\./, ''));
    if (excepted === '' || (port !== undefined && Number(port) !== portOf(target))) return false;
    return hostname === excepted || hostname.endsWith(`.${excepted}`);
  });
}

/** Matches an entry of `NO_PROXY`: a host with an optional port. */
const ENTRY = /^(.*?)(?::(\d+))?$/;

export function portOf({ protocol, port }: URL): number {
  return Number(port || (protocol === 'https:' ? 443 : 80));
}

/** Returns a host name as `URL` would print it. */
function normalized(host: string): string {
  const address = host.replace(/^\[(.*)\]$/, '$1');
  if (isIPv6(address)) return new URL(`http://[${address}]`).hostname;
  const name = host.toLowerCase().replace(/\.$/, '');
  return /\P{ASCII}/u.test(name) ? domainToASCII(name) : name;
}

function parseProxy(variable: string, text: string): HttpProxy {
  const refuse = (what: string) => {
    // The message never shows the value of the variable, which may contain a password.
    throw new OptionError(variable, `\`${variable}\` ${what}`);
  };
  // `proxy.example:3128` means an http proxy, as it does in curl.
  const href = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  if (!URL.canParse(href)) refuse('must be the address of a proxy, such as http://host:3128');
  const url = new URL(href);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    refuse(`must begin with http:// or https://: ${url.protocol}// proxies are not supported`);
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '')
    refuse('must end with the port of the proxy: it has a path, query or hash');
  const login = [url.username, url.password].map(decoded);
  const [user, password] = login;
  if (user === undefined || password === undefined)
    refuse('has a % in its user or password that is not of a %XX: write a plain % as %25');
  if (user?.includes(':')) refuse('has a user with a colon, which Basic credentials cannot have');
  url.username = '';
  url.password = '';
  const authorization =
    login.join('') === ''
      ? undefined
      : new Secret(`Basic ${Buffer.from(login.join(':')).toString('base64')}`);
  return { url, variable, authorization };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
