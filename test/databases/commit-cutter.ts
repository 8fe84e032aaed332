import { once } from 'node:events';
import net from 'node:net';

export interface CutOptions {
  /** The position of the COMMIT whose connection is cut, starting at 1. */
  readonly at: number;
  /** The message that is lost. If it is the answer, the server has committed. */
  readonly lost: 'request' | 'answer';
}

export class CommitCutter {
  cuts = 0;
  readonly #server: net.Server;
  readonly #sockets = new Set<net.Socket>();

  static async open(port: number, options: CutOptions): Promise<CommitCutter> {
    const server = net.createServer();
    const cutter = new CommitCutter(server, port, options);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return cutter;
  }

  private constructor(server: net.Server, port: number, { at, lost }: CutOptions) {
    this.#server = server;
    let commits = 0;
    server.on('connection', client => {
      const upstream = net.connect(port, '127.0.0.1');
      const cut = () => {
        this.cuts++;
        client.destroy();
        upstream.destroy();
      };
      let cutsAnswer = false;
      client.on('data', data => {
        const isCut = data.includes('COMMIT\0') && ++commits === at;
        if (isCut && lost === 'request') return cut();
        cutsAnswer ||= isCut;
        upstream.write(data);
      });
      upstream.on('data', data => {
        if (cutsAnswer) cut();
        else client.write(data);
      });
      for (const [one, other] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        this.#sockets.add(one);
        one.on('error', () => other.destroy());
        one.on('close', () => {
          this.#sockets.delete(one);
          other.destroy();
        });
      }
    });
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    const closed = once(this.#server, 'close');
    this.#server.close();
    await closed;
  }
}
