import { JetStreamError } from './jet-stream-errors.js';

/** The packages of the NATS client. They are optional, so they are loaded when they are used. */
export interface Packages {
  readonly core: typeof import('@nats-io/transport-node');
  readonly jetstream: typeof import('@nats-io/jetstream');
  readonly kv: typeof import('@nats-io/kv');
}

/**
 * Loads the NATS client, when the first connection is opened.
 *
 * @throws JetStreamError if a package is not installed.
 */
export async function loadPackages(call: string): Promise<Packages> {
  try {
    const [core, jetstream, kv] = await Promise.all([
      import('@nats-io/transport-node'),
      import('@nats-io/jetstream'),
      import('@nats-io/kv'),
    ]);
    return { core, jetstream, kv };
  } catch (cause) {
    throw new JetStreamError(
      `${call} needs the NATS client, which is not installed: npm install @nats-io/transport-node @nats-io/jetstream @nats-io/kv`,
      { failure: 'packages', cause },
    );
  }
}
