import type { NatsConnection } from '@nats-io/transport-node';
import { isRefusedLogin } from './failure.js';

/** For how long: a server that reloads its users may refuse all for a moment, and a name may have several addresses. */
const REFUSED_MS = 2_000;
/** Tries of each server. The client does not take turns exactly. */
const TRIES = 2;

/**
 * Resolves to the refusal once every server refuses the login in the middle of a run, or to `undefined` once the
 * connection is closed. It takes enough refusals in a row that each server was tried. The client itself would give up
 * after two refusals, which may come from one server of a cluster, or hours apart.
 */
export async function refusedLogin(nats: NatsConnection): Promise<Error | undefined> {
  let refusals = 0;
  let since = 0;
  let isRefused = false;
  for await (const status of nats.status()) {
    if (status.type === 'reconnecting') {
      // The try before it failed otherwise, so that its server may accept the login later.
      if (!isRefused) refusals = 0;
      isRefused = false;
    } else if (status.type === 'reconnect') refusals = 0;
    else if (status.type === 'error' && isRefusedLogin(status.error)) {
      isRefused = true;
      if (refusals++ === 0) since = performance.now();
      const isEnough = refusals >= TRIES * nats.getServers().length;
      if (isEnough && performance.now() - since >= REFUSED_MS) return status.error;
    }
  }
  return undefined;
}
