import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import type { NatsNode } from './nats-server.js';

/** Does something with the streams of a node, through a connection of its own. */
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
