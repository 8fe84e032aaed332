import { type ConnectionOptions, connect, type NatsConnection } from '@nats-io/transport-node';

export type ConnectingJson = readonly [
  servers: string | string[],
  login?: Pick<ConnectionOptions, 'user' | 'pass'>,
];

/**
 * Opens a connection with the reconnect options that the JetStream page recommends. With these,
 * only `maxOutageMs` ends a run. `toJSON` returns the arguments of `connecting`.
 */
export interface Connecting {
  (): Promise<NatsConnection>;
  toJSON(): ConnectingJson;
}

export function connecting(servers: string | string[], login: ConnectionOptions = {}): Connecting {
  const open = () =>
    connect({
      servers,
      waitOnFirstConnect: true,
      maxReconnectAttempts: -1,
      noAsyncTraces: true,
      reconnectTimeWait: 100,
      ...login,
    });
  return Object.assign(open, { toJSON: (): ConnectingJson => [servers, login] });
}
