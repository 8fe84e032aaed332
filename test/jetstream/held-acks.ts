import { once } from 'node:events';
import net from 'node:net';

/**
 * A TCP proxy between a client and its server. It holds back the acknowledgement of one message.
 * Everything else is forwarded, including later acknowledgements.
 */
export class HeldAcks {
  /** Resolves when the acknowledgement of the next message was forwarded. */
  readonly laterPassed: Promise<void>;
  readonly #holds: string;
  readonly #later: string;
  readonly #port: number;
  readonly #server = net.createServer(socket => this.#accept(socket));
  readonly #sockets = new Set<net.Socket>();
  #release = () => {};
  #pass = () => {};

  private constructor(port: number, stream: string, seq: number) {
    this.#port = port;
    this.#holds = `"stream":"${stream}", "seq":${seq}`;
    this.#later = `"stream":"${stream}", "seq":${seq + 1}`;
    this.laterPassed = new Promise(resolve => {
      this.#pass = resolve;
    });
  }

  static async start(port: number, stream: string, seq: number): Promise<HeldAcks> {
    const proxy = new HeldAcks(port, stream, seq);
    await once(proxy.#server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  get url(): string {
    return `nats://127.0.0.1:${(this.#server.address() as net.AddressInfo).port}`;
  }

  /** Cuts all connections. Accepts new ones. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  release(): void {
    this.#release();
  }

  /**
   * Cuts all connections and accepts no new ones. To the server, this looks as if the client were
   * killed.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server.close(), 'close');
    this.cut();
    await closed;
  }

  #accept(client: net.Socket): void {
    const server = net.connect(this.#port, '127.0.0.1');
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => {}).on('close', () => other.destroy());
    }
    client.pipe(server);
    let rest = Buffer.alloc(0);
    server.on('data', chunk => {
      rest = Buffer.concat([rest, chunk]);
      for (let end = frameEnd(rest); end !== -1; end = frameEnd(rest)) {
        const frame = Buffer.from(rest.subarray(0, end));
        rest = rest.subarray(end);
        if (frame.includes(this.#holds)) this.#release = () => client.write(frame);
        else {
          client.write(frame);
          if (frame.includes(this.#later)) this.#pass();
        }
      }
    });
  }
}

/**
 * Returns the end of the first frame from the server: a line, and the bytes that it announces.
 * Returns -1 if the frame is incomplete.
 */
function frameEnd(bytes: Buffer): number {
  const end = bytes.indexOf('\r\n') + 2;
  if (end === 1) return -1;
  const [, length] = /^H?MSG .* (\d+)\r\n$/.exec(bytes.toString('latin1', 0, end)) ?? [];
  const whole = length === undefined ? end : end + Number(length) + 2;
  return whole <= bytes.length ? whole : -1;
}
