import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import type { NatsNode } from './nats-server.js';

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
