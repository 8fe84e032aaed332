import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { isNodeError, OptionError } from '../../base/errors.js';

/** Options of a server that limit how long a slow request can hold its connection. */
export const SLOW_CLIENTS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 2_000,
} as const;

/**
 * Listens on an address of this machine.
 *
 * @throws OptionError with the name of the option, if the port is in use or not allowed, or if the host is
 * another machine.
 */
export async function listen(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
  option: string,
): Promise<void> {
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    throw hostError(host, error) ?? portError(port, option, error);
  }
}

export function urlOf(server: Server, host: string): string {
  const address = server.address() as AddressInfo | null;
  if (address === null) throw new Error('The service does not listen; start it first');
  return urlAt(host, address.port);
}

/**
 * Returns the URL of a server that listens on this host. `0.0.0.0` and `::` mean all addresses of this
 * machine. For these, the URL has an address that other machines can reach.
 */
export function urlAt(host: string, port: number): string {
  const name = EVERY_ADDRESS.includes(host) ? outerAddress() : host;
  return new URL(`http://${isIPv6(name) ? `[${name}]` : name}:${port}`).origin;
}

const EVERY_ADDRESS = ['0.0.0.0', '::'];

function outerAddress(): string {
  const outer = Object.values(networkInterfaces())
    .flatMap(addresses => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal);
  return outer?.address ?? '127.0.0.1';
}

export async function closeServer(server: Server): Promise<void> {
  const closed = server.listening ? once(server.close(), 'close') : undefined;
  server.closeAllConnections();
  await closed;
}

const UNKNOWN_HOST = ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EINVAL'];

function hostError(host: string, cause: unknown): OptionError | undefined {
  if (!UNKNOWN_HOST.some(code => isNodeError(cause, code))) return undefined;
  const problem = `Cannot listen on ${host}, which is not an address of this machine; use 0.0.0.0 to listen on all addresses`;
  return new OptionError('host', problem, { cause });
}

const PORT_PROBLEMS = {
  EADDRINUSE: 'is in use; choose another, or 0 for any free one',
  EACCES: 'is not allowed to this user; choose another',
};

function portError(port: number, option: string, cause: unknown): unknown {
  const [, problem] =
    Object.entries(PORT_PROBLEMS).find(([code]) => isNodeError(cause, code)) ?? [];
  return problem === undefined
    ? cause
    : new OptionError(option, `Port ${port} ${problem}`, { cause });
}
