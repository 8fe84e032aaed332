import { once } from 'node:events';
import net from 'node:net';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';

/** Where bytes go. */
export type Direction = 'to client' | 'to server';

/** What happens to the connection that passes a byte; others are left alone. */
export interface WireFault {
  readonly kind: 'reset' | 'early end' | 'stall' | 'split';
  readonly direction: Direction;
  /** How many bytes pass in this direction, of all connections together, before it. */
  readonly afterBytes: number;
  /** How long a stall lasts. @default until the proxy is closed */
  readonly forMs?: number | undefined;
  /** The size of the largest pieces of a split. @default 1 */
  readonly maxPiece?: number | undefined;
}

/** The subject that a message of a consumer is acknowledged at: its stream, consumer, deliveries, and sequence. */
const DELIVERED = /\$JS\.ACK\.[^.\s]+\.[^.\s]+\.\d+\.(\d+)\.\d+\.\d+\.\d+ /g;
/** More than the length of such a subject. */
const CARRY = 200;
/** How much a split sends in pieces: each takes a turn of the event loop. */
const SPLIT_BYTES = 20_000;
const RESET_MS = 20;

/** A proxy between NATS clients and one server that breaks, stalls or splits connections at a byte. */
export class WireProxy {
  /** The sequences of the messages that consumers were sent. */
  readonly delivered: number[] = [];
  /** How many bytes have passed. */
  readonly passed: Record<Direction, number> = { 'to client': 0, 'to server': 0 };
  connections = 0;
  /** Whether the fault has happened. */
  isHit = false;
  /** Bytes that a stall has held back. */
  held = 0;
  /** Pieces that were not the end of what arrived together. */
  splits = 0;
  /** Milliseconds that each MiB to the server takes. */
  msPerMiB = 0;
  #fault: WireFault | undefined;
  readonly #server: net.Server;
  readonly #links = new Set<Link>();
  readonly #port: number;

  private constructor(port: number) {
    this.#port = port;
    this.#server = net.createServer({ noDelay: true }, near => this.#join(near));
  }

  /** @param port That of the server, on loopback. */
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

  /** Stalls all connections that are open now. */
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
      // A connection that ends otherwise than in order.
    }
    link.destroy();
  }

  /** Returns what the next chunk may continue. */
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

/** One client's connection, and that to the server for it. */
class Link {
  readonly #near: net.Socket;
  readonly #far: net.Socket;
  /** Resolves at the end of a stall; `undefined` while there is none. */
  stalled: Promise<void> | undefined;
  #goOn: () => void = () => {};
  #timer: NodeJS.Timeout | undefined;

  constructor(near: net.Socket, far: net.Socket) {
    this.#near = near;
    this.#far = far;
    // What is written to a connection that was reset.
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

  /** Ends the client's connection: by a reset, or in order, with all that was sent. */
  async end(how: 'reset' | 'early end'): Promise<void> {
    // Right after a write, Node ends the connection in order before it resets it.
    await sleep(RESET_MS);
    if (how === 'reset') this.#near.resetAndDestroy();
    else this.#near.end();
    this.#far.destroy();
  }

  /** Ends both sides; a client that reads its last bytes is left to itself, unless `now` is set. */
  destroy({ now = false } = {}): void {
    this.#resume();
    if (now || !this.#near.writableEnded) this.#near.destroy();
    this.#far.destroy();
  }
}
