import { isCount, recordOf } from '../json/type-guards.js';
import { epochOf, HEADERS, type HeaderReader } from './headers.js';

/** What a cursor keeps: the highest epoch of each publisher and subject. */
export type EpochsJson = Readonly<Record<string, number>>;

/** Whether a value of a cursor is an `EpochsJson`. */
export const isEpochs = recordOf(isCount);

/**
 * Leaves out messages that a replaced process sent too late. Each start of a publisher begins an epoch: before it
 * publishes posts, it writes a message without posts to each subject, which ends the epoch before on that subject. Any
 * message of an earlier epoch that comes after this one was sent by a process that was replaced; the stream has its
 * posts a second time, or will have them. All readers decide the same, because the stream has one order for all.
 */
export class Epochs {
  readonly #highest: Map<string, number>;
  #json: EpochsJson | undefined;

  constructor(highest: EpochsJson = {}) {
    this.#highest = new Map(Object.entries(highest));
  }

  /** Whether a message counts. To be called for each message in the order of the stream. */
  admits(subject: string, headers: HeaderReader | undefined): boolean {
    const publisher = headers?.get(HEADERS.publisher) ?? '';
    // It is a message of another program, which has no epochs.
    if (publisher === '') return true;
    const epoch = epochOf(headers);
    const key = `${publisher} ${subject}`;
    const highest = this.#highest.get(key) ?? 0;
    if (epoch < highest) return false;
    if (epoch > highest) {
      this.#highest.set(key, epoch);
      this.#json = undefined;
    }
    return true;
  }

  /** Returns the same object until an epoch changes, because the cursor of each batch has it. */
  toJSON(): EpochsJson {
    this.#json ??= Object.fromEntries(this.#highest);
    return this.#json;
  }
}
