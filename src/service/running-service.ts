import { ConnectionError, OptionError } from '../base/errors.js';
import type { Addresses } from './http/addresses.js';

const TIMEOUT_MS = 10_000;

/**
 * Asks the service that runs at a URL for its addresses, names and credentials, by its control path.
 *
 * @param startedBy The command that starts it, for messages.
 * @throws ConnectionError if no service answers there; OptionError without its token.
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
  if (response.ok) return (await response.json()) as Addresses;
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
