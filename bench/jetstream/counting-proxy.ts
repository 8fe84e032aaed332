import { once } from 'node:events';
import net from 'node:net';

export interface CountingProxy {
  readonly url: string;
  readonly bytes: { sent: number; received: number };
  close(): Promise<void>;
}

export async function countingProxy(port: number): Promise<CountingProxy> {
  const bytes = { sent: 0, received: 0 };
  const sockets = new Set<net.Socket>();
  const server = net.createServer(near => {
    const far = net.connect(port, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
    }
    near.on('data', chunk => {
      bytes.sent += chunk.length;
    });
    far.on('data', chunk => {
      bytes.received += chunk.length;
    });
    near.pipe(far).pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `nats://127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    bytes,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
