import { DataError } from '../errors.js';
import { isCount } from '../json/json-checks.js';
import { HEADERS, type HeaderReader } from './message.js';

/** As a cursor has it: the highest epoch by publisher and subject. */
export type EpochsJson = Readonly<Record<string, number>>;

/** Whether a value of a cursor is the state of epochs. */
export function isEpochs(value: unknown): value is EpochsJson {
  return typeof value === 'object' && value !== null && Object.values(value).every(isCount);
}

/**
 * The epoch of a message of a publisher.
 *
 * @throws DataError
 */
export function epochOf(headers: HeaderReader | undefined): number {
  const text = headers?.get(HEADERS.epoch) ?? '';
  // A number that a cursor cannot keep would stop the next run.
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new DataError(
    `A message has the header ${HEADERS.epoch} ${JSON.stringify(text.slice(0, 60))}, and not a whole number`,
  );
}

/**
 * Which messages count. A publisher that starts begins an epoch: before it publishes posts, it writes a
 * message without posts to each subject, which ends the epoch before on that subject. A message of an
 * earlier epoch behind it comes from a process that was replaced, and the stream has the post, or will have it,
 * a second time. All readers decide the same, as the order of the stream is the same for all.
 */
export class Epochs {
  readonly #highest: Map<string, number>;
  #json: EpochsJson | undefined;

  constructor(highest: EpochsJson = {}) {
    this.#highest = new Map(Object.entries(highest));
  }

  /** Whether a message counts; messages come in the order of the stream. */
  admits(subject: string, headers: HeaderReader | undefined): boolean {
    const publisher = headers?.get(HEADERS.publisher) ?? '';
    // A message of another program: no other process takes it over.
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

  /** The same object until something changes, as each batch has it in its cursor. */
  toJSON(): EpochsJson {
    this.#json ??= Object.fromEntries(this.#highest);
    return this.#json;
  }
}
