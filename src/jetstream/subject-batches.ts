import { DamagedItem, type Outgoing } from './message.js';
import type { Packer } from './packer.js';

interface SubjectBatch {
  readonly items: Outgoing[];
  size: number;
}

/** Items that wait for others of their subject, to be sent as one message. */
export class SubjectBatches {
  readonly #batches = new Map<number, SubjectBatch>();
  readonly #packer: Packer;
  readonly #maxBytes: () => number;
  readonly #send: (subject: number, items: readonly Outgoing[]) => void;
  #timer: NodeJS.Timeout | undefined;

  /** @param maxBytes The largest message that the servers accept now. */
  constructor(
    packer: Packer,
    maxBytes: () => number,
    send: (subject: number, items: readonly Outgoing[]) => void,
  ) {
    this.#packer = packer;
    this.#maxBytes = maxBytes;
    this.#send = send;
  }

  /** @throws DamagedItem For an item that does not fit into a message. */
  mustFit(item: Outgoing): void {
    const maxBytes = this.#maxBytes();
    if (this.#packer.fits(1, this.#packer.sizeOf(item), maxBytes)) return;
    const { id, payload } = item;
    throw new DamagedItem(
      `The item ${id} has ${payload.length} bytes, and the servers accept ${maxBytes} with its headers (max_payload)`,
      payload,
      { advice: 'Raise `max_payload` of the servers, or pass `onDamaged` to leave it out' },
    );
  }

  /** Adds an item that fits. */
  add(subject: number, item: Outgoing): void {
    const packer = this.#packer;
    const maxBytes = this.#maxBytes();
    const size = packer.sizeOf(item);
    let batch = this.#batches.get(subject);
    if (batch !== undefined && !packer.fits(batch.items.length + 1, batch.size + size, maxBytes)) {
      this.#sendBatch(subject);
      batch = undefined;
    }
    if (batch === undefined) {
      batch = { items: [], size: 0 };
      this.#batches.set(subject, batch);
    }
    batch.items.push(item);
    batch.size += size;
    if (packer.isFull(batch.items.length, batch.size)) this.#sendBatch(subject);
    else this.#timer ??= setTimeout(() => this.sendAll(), packer.waitMs);
  }

  sendAll(): void {
    this.close();
    for (const subject of [...this.#batches.keys()]) this.#sendBatch(subject);
  }

  /** Nothing is sent without a call from now on. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #sendBatch(subject: number): void {
    const items = this.#batches.get(subject)?.items;
    this.#batches.delete(subject);
    if (items !== undefined) this.#send(subject, items);
  }
}
