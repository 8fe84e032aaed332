import { ConnectionError, OptionError } from '../base/errors.js';
import { isText, isTexts, parsedAs, shaped } from '../json/type-guards.js';
import type { Addresses } from './http/addresses.js';
import { isWithoutRates } from './http/service-limits.js';

/**
 * Returns the environment variables from which `account()` reads the service's addresses, names and
 * credentials.
 *
 * @param given The environment in which these variables will be set. It may have variables of another
 * service, such as `MILLRACE_RULES_URL` or `MILLRACE_LIMITS`. The result sets them to an empty string, which
 * counts as absent. Otherwise, `account()` would use them for this service.
 */
export function environmentOf(
  addresses: Addresses,
  given: Readonly<Record<string, string | undefined>> = {},
): Readonly<Record<string, string>> {
  const others = Object.keys(addresses)
    .filter(name => name.endsWith('Url'))
    .map(name => `MILLRACE_${name.replaceAll(/[A-Z]/g, '_$&').toUpperCase()}`)
    .filter(name => given[name]);
  const isRelaxed = isWithoutRates(addresses.limits);
  const insecure = addresses.insecureOrigins.join(',');
  return {
    ...Object.fromEntries(others.map(name => [name, ''])),
    ...(isRelaxed || given.MILLRACE_LIMITS ? { MILLRACE_LIMITS: isRelaxed ? 'relaxed' : '' } : {}),
    ...(insecure || given.MILLRACE_INSECURE_ORIGINS ? { MILLRACE_INSECURE_ORIGINS: insecure } : {}),
    // All endpoints have the same origin, so this variable is enough for all addresses.
    MILLRACE_URL: addresses.baseUrl,
    MILLRACE_CONSOLE_URL: addresses.consoleUrl,
    MILLRACE_STATUS_URL: addresses.statusUrl,
    MILLRACE_LOCAL_SERVICE: addresses.localService ?? '',
    MILLRACE_ACCOUNT: addresses.account,
    MILLRACE_LABEL: addresses.label,
    MILLRACE_STREAM_LABEL: addresses.streamLabel,
    MILLRACE_COMPLIANCE_LABEL: addresses.complianceLabel,
    MILLRACE_PUBLISHER: addresses.publisher,
    MILLRACE_EMAIL: addresses.email,
    MILLRACE_PASSWORD: addresses.password,
    MILLRACE_CONSUMER_KEY: addresses.consumerKey,
    MILLRACE_CONSUMER_SECRET: addresses.consumerSecret,
  };
}

/**
 * Formats each variable as an `export` line for a shell. Node can also read a line from a `.env` file, unless
 * its value needs shell escapes.
 */
export function exportLines(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => `export ${name}=${quoted(value)}\n`)
    .join('');
}

/**
 * Quotes a value so that a shell and a `.env` file read it alike. Uses single quotes, or double quotes if the
 * value contains a single quote. Some values need escapes, which `.env` files do not support. These values
 * work only in a shell.
 */
function quoted(value: string): string {
  if (!value.includes("'")) return `'${value}'`;
  if (!/["$`\\!]/.test(value)) return `"${value}"`;
  return shellWord(value);
}

export function shellWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

const TIMEOUT_MS = 10_000;

/**
 * Requests what `account()` needs to use the local service at a URL: its addresses, account name, labels and
 * credentials.
 *
 * @param startedBy The command that starts the service, for error messages.
 * @throws ConnectionError if no local service answers at the URL; OptionError if the service requires a token
 * and `token` is absent or wrong.
 */
export async function addressesOfRunning(
  url: string,
  token: string | undefined,
  startedBy: string,
): Promise<Addresses> {
  const response = await fetch(`${url}/_control/addresses`, {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch(cause => {
    const advice = `Start it first, in another shell, and keep it running: ${startedBy}`;
    const problem = `No service runs at ${url}. ${advice}`;
    throw new ConnectionError(problem, { failure: 'refused', url, cause });
  });
  if (response.ok) {
    const addresses = parsedAs(await response.text().catch(() => ''), isAddresses);
    if (addresses !== undefined) return addresses;
    throw new ConnectionError(
      `Another program answers at ${url}, not a local service: pass the port of the service`,
      { failure: 'refused', url },
    );
  }
  await response.body?.cancel();
  if (response.status === 401)
    throw new OptionError(
      'token',
      `The service at ${url} needs its token: pass --token, or set MILLRACE_SERVICE_TOKEN`,
    );
  throw new ConnectionError(
    `No local service answers at ${url}: ${response.status}. One with --no-control, or of an older version, does not tell its variables: copy those that it printed at its start`,
    { failure: 'refused', url },
  );
}

/** Checks only the members that distinguish the addresses of a service from other JSON. */
const isAddresses = shaped<
  Pick<Addresses, 'baseUrl' | 'account' | 'email' | 'password' | 'insecureOrigins'>
>({
  baseUrl: isText,
  account: isText,
  email: isText,
  password: isText,
  insecureOrigins: isTexts,
}) as (value: unknown) => value is Addresses;
