import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import type { NatsNode } from './nats-server.js';

/** Calls a function with a stream manager that has a separate connection to the node. */
export async function manageStreams<T>(
  node: NatsNode,
  use: (manager: JetStreamManager) => Promise<T>,
): Promise<T> {
  const connection = await connect({ servers: node.url });
  try {
    return await use(await jetstreamManager(connection));
  } finally {
    await connection.close();
  }
}
