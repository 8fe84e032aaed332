import { once } from 'node:events';
import net from 'node:net';

export type Cut =
  /** Forwards nothing until the cut ends. Both sides keep their connections. */
  | 'silent'
  /** Resets connections, and refuses new ones. */
  | 'reset';

/**
 * A TCP proxy for each route between two nodes of a cluster. With these proxies, a test can cut a
 * node off from the other nodes while clients still reach it.
 */
export class RouteProxies {
  readonly #links: Link[] = [];

  readonly routePort = async (from: number, to: number, port: number): Promise<number> => {
    const link = new Link(from, to, port);
    this.#links.push(link);
    return link.listen();
  };

  cutOff(node: number, cut: Cut): void {
    for (const link of this.#links) if (link.from === node || link.to === node) link.cut(cut);
  }

  heal(): void {
    for (const link of this.#links) link.heal();
  }

  get bytes(): number {
    return this.#links.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#links.map(link => link.close()));
  }
}

class Link {
  readonly from: number;
  readonly to: number;
  readonly #port: number;
  readonly #server = net.createServer({ pauseOnConnect: true }, socket => this.#accept(socket));
  readonly #sockets = new Set<net.Socket>();
  #cut: Cut | undefined;
  bytes = 0;

  constructor(from: number, to: number, port: number) {
    this.from = from;
    this.to = to;
    this.#port = port;
  }

  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as net.AddressInfo).port;
  }

  cut(cut: Cut): void {
    this.#cut = cut;
    for (const socket of this.#sockets)
      if (cut === 'reset') socket.resetAndDestroy();
      else socket.pause();
  }

  heal(): void {
    this.#cut = undefined;
    for (const socket of this.#sockets) socket.resume();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(near: net.Socket): void {
    if (this.#cut === 'reset') {
      near.resetAndDestroy();
      return;
    }
    const far = net.connect({ port: this.#port, host: '127.0.0.1' });
    this.#join(near, far);
    this.#join(far, near);
    if (this.#cut === undefined) near.resume();
    else far.pause();
  }

  #join(from: net.Socket, to: net.Socket): void {
    this.#sockets.add(from);
    from.on('data', chunk => {
      this.bytes += chunk.length;
      if (to.write(chunk)) return;
      from.pause();
      to.once('drain', () => {
        if (this.#cut === undefined) from.resume();
      });
    });
    // A killed node resets its connections, which emits an error. The `close` event follows.
    from.on('error', () => {});
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}
