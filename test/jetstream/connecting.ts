import { type ConnectionOptions, connect, type NatsConnection } from '@nats-io/transport-node';

/** The arguments of `connecting`, as a child process gets them in JSON. */
export type ConnectingJson = readonly [
  servers: string | string[],
  login?: Pick<ConnectionOptions, 'user' | 'pass'>,
];

/** Opens a connection as the page shows, so that only `maxOutageMs` ends a run. As JSON, it is its arguments. */
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
