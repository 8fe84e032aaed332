import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isNodeError, OptionError } from '../../errors.js';

/** Options of a server: a request that arrives slowly does not hold its connection for long. */
export const SLOW_CLIENTS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 2_000,
} as const;

/**
 * Listens on 127.0.0.1.
 *
 * @throws OptionError, named after the option that gave it, for a port that is in use or not allowed.
 */
export async function listen(server: Server, port: number, option: string): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => {
        server.off('error', reject);
        resolve();
      });
    });
  } catch (error) {
    throw portError(port, option, error);
  }
}

export function urlOf(server: Server): string {
  const address = server.address() as AddressInfo | null;
  if (address === null) throw new Error('The service does not listen; start it first');
  return loopbackUrl(address.port);
}

export function loopbackUrl(port: number): string {
  return `http://127.0.0.1:${port}`;
}

/** Ends every connection. */
export async function closeServer(server: Server): Promise<void> {
  const closed = server.listening
    ? new Promise<void>(resolve => server.close(() => resolve()))
    : undefined;
  server.closeAllConnections();
  await closed;
}

function portError(port: number, option: string, cause: unknown): unknown {
  const problem = isNodeError(cause, 'EADDRINUSE')
    ? 'is in use; choose another, or 0 for any free one'
    : isNodeError(cause, 'EACCES')
      ? 'is not allowed to this user; choose another'
      : undefined;
  return problem === undefined
    ? cause
    : new OptionError(option, `Port ${port} ${problem}`, { cause });
}
