import { once } from 'node:events';
import net from 'node:net';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';

export type Direction = 'to client' | 'to server';

export interface WireFault {
  readonly kind: 'reset' | 'early end' | 'stall' | 'split';
  readonly direction: Direction;
  /**
   * The number of bytes that all connections together forward in this direction before the fault.
   */
  readonly afterBytes: number;
  /** The duration of a stall. @default until the proxy is closed */
  readonly forMs?: number | undefined;
  readonly maxPiece?: number | undefined;
}

/**
 * Matches the reply subject of a message that the server sends to a consumer. The client
 * acknowledges the message to this subject, which contains the stream, the consumer, the number of
 * deliveries and the sequence.
 */
const DELIVERED = /\$JS\.ACK\.[^.\s]+\.[^.\s]+\.\d+\.(\d+)\.\d+\.\d+\.\d+ /g;
/** Longer than any acknowledgement subject, in bytes. */
const CARRY = 200;
/** The number of bytes that a split sends in pieces. Each piece takes a turn of the event loop. */
const SPLIT_BYTES = 20_000;
const RESET_MS = 20;

export class WireProxy {
  readonly delivered: number[] = [];
  readonly passed: Record<Direction, number> = { 'to client': 0, 'to server': 0 };
  connections = 0;
  isHit = false;
  held = 0;
  /**
   * The number of pieces into which chunks were split, not counting the last piece of each chunk.
   */
  splits = 0;
  msPerMiB = 0;
  #fault: WireFault | undefined;
  readonly #server: net.Server;
  readonly #links = new Set<Link>();
  readonly #port: number;

  private constructor(port: number) {
    this.#port = port;
    this.#server = net.createServer({ noDelay: true }, near => this.#join(near));
  }

  static async open(port: number): Promise<WireProxy> {
    const proxy = new WireProxy(port);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `nats://127.0.0.1:${(this.#server.address() as net.AddressInfo).port}`;
  }

  plant(fault: WireFault): void {
    this.#fault = fault;
  }

  stall(forMs?: number): void {
    this.isHit = true;
    for (const link of this.#links) link.stall(forMs);
  }

  async close(): Promise<void> {
    for (const link of this.#links) link.destroy({ now: true });
    this.#server.close();
    await once(this.#server, 'close');
  }

  #join(near: net.Socket): void {
    const far = net.connect({ port: this.#port, host: '127.0.0.1', noDelay: true });
    const link = new Link(near, far);
    this.connections++;
    this.#links.add(link);
    const pumps = [
      this.#pump(link, near, far, 'to server'),
      this.#pump(link, far, near, 'to client'),
    ];
    void Promise.all(pumps).then(() => this.#links.delete(link));
  }

  async #pump(link: Link, from: net.Socket, to: net.Socket, direction: Direction): Promise<void> {
    let before = '';
    try {
      for await (const chunk of from as AsyncIterable<Buffer>) {
        if (direction === 'to client') before = this.#watch(before, chunk);
        await this.#pass(link, to, direction, chunk);
      }
    } catch {
      // The connection has ended with an error.
    }
    link.destroy();
  }

  /**
   * Finds acknowledgement subjects in a chunk. Returns the end of the chunk, because the next chunk
   * may continue a subject.
   */
  #watch(before: string, chunk: Buffer): string {
    const text = before + chunk.toString('latin1');
    let end = 0;
    for (const match of text.matchAll(DELIVERED)) {
      this.delivered.push(Number(match[1]));
      end = match.index + match[0].length;
    }
    return text.slice(Math.max(end, text.length - CARRY));
  }

  async #pass(link: Link, to: net.Socket, direction: Direction, chunk: Buffer): Promise<void> {
    const from = this.passed[direction];
    this.passed[direction] += chunk.length;
    if (direction === 'to server' && this.msPerMiB > 0)
      await sleep((this.msPerMiB * chunk.length) / 2 ** 20);
    const fault = this.#fault?.direction === direction ? this.#fault : undefined;
    const at = fault === undefined ? chunk.length : Math.max(0, fault.afterBytes - from);
    if (fault === undefined || at >= chunk.length || (this.isHit && fault.kind !== 'split')) {
      await this.#write(link, to, chunk);
      return;
    }
    this.isHit = true;
    await this.#write(link, to, chunk.subarray(0, at));
    const rest = chunk.subarray(at);
    if (fault.kind === 'split') {
      const end = Math.max(0, Math.min(rest.length, fault.afterBytes + SPLIT_BYTES - from - at));
      await this.#writePieces(link, to, rest.subarray(0, end), fault.maxPiece ?? 1);
      await this.#write(link, to, rest.subarray(end));
    } else if (fault.kind === 'stall') {
      link.stall(fault.forMs);
      await this.#write(link, to, rest);
    } else await link.end(fault.kind);
  }

  async #writePieces(link: Link, to: net.Socket, bytes: Buffer, max: number): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const next = Math.min(bytes.length, at + 1 + (at % max));
      if (next < bytes.length) this.splits++;
      await this.#write(link, to, bytes.subarray(at, next));
      at = next;
      await setImmediate();
    }
  }

  async #write(link: Link, to: net.Socket, bytes: Buffer): Promise<void> {
    if (bytes.length === 0) return;
    if (link.stalled !== undefined) {
      this.held += bytes.length;
      await link.stalled;
    }
    if (!to.destroyed) await new Promise<void>(resolve => to.write(bytes, () => resolve()));
  }
}

class Link {
  readonly #near: net.Socket;
  readonly #far: net.Socket;
  stalled: Promise<void> | undefined;
  #goOn: () => void = () => {};
  #timer: NodeJS.Timeout | undefined;

  constructor(near: net.Socket, far: net.Socket) {
    this.#near = near;
    this.#far = far;
    // Writing to a reset connection emits an error.
    for (const socket of [near, far]) socket.on('error', () => {});
  }

  stall(forMs?: number): void {
    this.stalled = new Promise(resolve => {
      this.#goOn = resolve;
    });
    if (forMs !== undefined) this.#timer = setTimeout(() => this.#resume(), forMs);
  }

  #resume(): void {
    clearTimeout(this.#timer);
    this.stalled = undefined;
    this.#goOn();
  }

  async end(how: 'reset' | 'early end'): Promise<void> {
    // If the reset came right after a write, Node would end the connection cleanly instead.
    await sleep(RESET_MS);
    if (how === 'reset') this.#near.resetAndDestroy();
    else this.#near.end();
    this.#far.destroy();
  }

  /**
   * Ends the connections to the client and to the server. If `now` is not set, a client that is
   * still reading its last bytes may continue.
   */
  destroy({ now = false } = {}): void {
    this.#resume();
    if (now || !this.#near.writableEnded) this.#near.destroy();
    this.#far.destroy();
  }
}
