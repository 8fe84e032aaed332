import { readFile } from 'node:fs/promises';
import type { ConnectionOptions } from '@nats-io/transport-node';
import { JetStreamError } from './jet-stream-error.js';
import type { Packages } from './packages.js';
import type { Access } from './servers.js';

/** The time limit of one request; a leader that is gone answers none. */
export const REQUEST_MS = 5_000;

/**
 * The settings of a connection, as the client calls them.
 *
 * @throws JetStreamError where a file of the login cannot be read.
 */
export async function connectOptions(
  { addresses, user, password, token, credentials, tls }: Access,
  { core }: Packages,
  call: string,
): Promise<ConnectionOptions> {
  return {
    servers: [...addresses],
    name: `millrace ${call}`,
    timeout: REQUEST_MS,
    // `repeat` decides how long.
    maxReconnectAttempts: -1,
    // `refusedLogin` decides.
    ignoreAuthErrorAbort: true,
    // Each request would make errors with stacks, for the case that it fails.
    noAsyncTraces: true,
    reconnectTimeWait: 100,
    reconnectJitter: 100,
    pingInterval: 5_000,
    maxPingOut: 2,
    ...(user !== undefined && password !== undefined && { user, pass: password.reveal() }),
    ...(token !== undefined && { token: token.reveal() }),
    ...(credentials !== undefined && {
      authenticator: core.credsAuthenticator(await fileOf(call, 'credentials', credentials)),
    }),
    ...(tls !== undefined && {
      tls: {
        ...(tls.ca !== undefined && { ca: await textOf(call, 'tls.ca', tls.ca) }),
        ...(tls.cert !== undefined && { cert: await textOf(call, 'tls.cert', tls.cert) }),
        ...(tls.key !== undefined && { key: await textOf(call, 'tls.key', tls.key) }),
      },
    }),
  };
}

async function textOf(call: string, option: string, file: string): Promise<string> {
  return (await fileOf(call, option, file)).toString();
}

async function fileOf(call: string, option: string, file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (cause) {
    throw new JetStreamError(
      `${call}: cannot read \`${option}\` ${file}: ${(cause as Error).message}`,
      { failure: 'refused', cause },
    );
  }
}
