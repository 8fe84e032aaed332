import { isCount, isFlag, listOf, recordOf, shaped } from '../json/type-guards.js';
import { epochOf, HEADERS, type HeaderReader, subjectPositionOf } from './message.js';

/** A range of sequences of a stream, or of positions of messages, with both ends inclusive. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** Returns the sequences from `from` to `to` that are not among the read sequences. */
export function lostWithin(from: number, to: number, read: Iterable<number>): Range[] {
  const lost: Range[] = [];
  let next = from;
  for (const sequence of read) {
    if (sequence > to) break;
    if (sequence > next) lost.push({ from: next, to: sequence - 1 });
    next = sequence + 1;
  }
  if (next <= to) lost.push({ from: next, to });
  return lost;
}

/** Groups ascending sequences into ranges. */
export function rangesOf(sequences: readonly number[]): Range[] {
  const ranges: Range[] = [];
  let [from, to] = [0, -1];
  for (const sequence of sequences) {
    if (sequence === to + 1) ranges.pop();
    else from = sequence;
    to = sequence;
    ranges.push({ from, to });
  }
  return ranges;
}

/** A set of positions as JSON: the position after the highest, then the ranges below it that are not in the set. */
export type PositionSetJson = readonly [next: number, ...missing: (readonly [number, number])[]];

/**
 * A set of positions that are added nearly in order. Stores only the highest position, and the missing
 * positions below it.
 */
export class PositionSet {
  #next: number;
  #missing: Range[];

  constructor([next, ...missing]: PositionSetJson = [0]) {
    this.#next = next;
    this.#missing = missing.map(([from, to]) => ({ from, to }));
  }

  /** The position after the highest position. */
  get next(): number {
    return this.#next;
  }

  /** All positions below this one are in the set. */
  get wholeUntil(): number {
    return this.#missing[0]?.from ?? this.#next;
  }

  /** Adds a position. Returns whether it is new. */
  add(position: number): boolean {
    if (position >= this.#next) {
      if (position > this.#next) this.#missing.push({ from: this.#next, to: position - 1 });
      this.#next = position + 1;
      return true;
    }
    const index = this.#missing.findIndex(({ from, to }) => from <= position && position <= to);
    const range = this.#missing[index];
    if (range === undefined) return false;
    this.#missing.splice(index, 1, ...without(range, { from: position, to: position }));
    return true;
  }

  /** Adds the missing positions of a range below the highest position. */
  fill(range: Range): void {
    this.#missing = this.#missing.flatMap(one => without(one, range));
  }

  /**
   * The positions that are not in the set, from `from` (inclusive) to `end` (exclusive), at most up to the
   * highest.
   */
  missing(from = 0, end = this.#next): Range[] {
    return this.#missing
      .map(range => ({ from: Math.max(range.from, from), to: Math.min(range.to, end - 1) }))
      .filter(range => range.from <= range.to);
  }

  toJSON(): PositionSetJson {
    return [this.#next, ...this.#missing.map(({ from, to }) => [from, to] as const)];
  }
}

/** The parts of a range before and after another range. */
function without({ from, to }: Range, other: Range): Range[] {
  return [
    { from, to: Math.min(to, other.from - 1) },
    { from: Math.max(from, other.to + 1), to },
  ].filter(range => range.from <= range.to);
}

/** The part of a cursor for epochs: the highest epoch of each publisher and subject. */
export type EpochsJson = Readonly<Record<string, number>>;

/** Whether a value in a cursor is an `EpochsJson`. */
export const isEpochs = recordOf(isCount);

/**
 * Skips messages that a replaced process sent too late. Each start of a publisher begins an epoch. Before it
 * publishes posts, it writes a message without posts to each subject, which ends the previous epoch on that
 * subject. Any later message with an earlier epoch was sent by a replaced process, and the new process
 * publishes its posts again. All readers decide the same, because the messages of a stream have the same
 * order for all readers.
 */
export class Epochs {
  readonly #highest: Map<string, number>;
  #json: EpochsJson | undefined;

  constructor(highest: EpochsJson = {}) {
    this.#highest = new Map(Object.entries(highest));
  }

  /** Returns whether a message counts. Call this for each message in the order of the stream. */
  admits(subject: string, headers: HeaderReader | undefined): boolean {
    const publisher = headers?.get(HEADERS.publisher) ?? '';
    // Messages of other programs have no epochs.
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

  /** Returns the same object until an epoch changes, because each batch has a cursor with it. */
  toJSON(): EpochsJson {
    this.#json ??= Object.fromEntries(this.#highest);
    return this.#json;
  }
}

/** Positions whose messages the servers have acknowledged, but no longer have. */
export interface LostPositions extends Range {
  readonly publisher: string;
  readonly subject: string;
}

/**
 * The position of one publisher on one subject in a cursor, as a list. See `Followed` for the
 * members.
 */
type FollowedJson = readonly [
  series: number,
  acknowledged: number,
  checked: number | null,
  first: number | null,
  ...seen: PositionSetJson,
];

/** Returns the positions that are in both lists. */
export function inBoth(
  some: readonly LostPositions[],
  others: readonly LostPositions[],
): LostPositions[] {
  return some.flatMap(one =>
    others
      .filter(({ publisher, subject }) => publisher === one.publisher && subject === one.subject)
      .map(({ from, to }) => ({
        ...one,
        from: Math.max(from, one.from),
        to: Math.min(to, one.to),
      }))
      .filter(({ from, to }) => from <= to),
  );
}

/** The part of a cursor for the positions of all publishers and subjects. */
export type LostAndRepeatedJson = {
  /** Whether the reader gets all messages of the stream, so that each new publisher must begin at position 0. */
  readonly isWhole: boolean;
  /** The followed positions by publisher and subject. */
  readonly followed: Readonly<Record<string, FollowedJson>>;
};

/** The state of a reader for a publisher on a subject. */
interface Followed {
  readonly series: number;
  /** The positions of messages that have arrived. */
  readonly seen: PositionSet;
  /** All positions below this one were acknowledged before the servers stored the messages that have arrived. */
  acknowledged: number;
  /**
   * Missing positions below this one are not reported, because they were already reported, or belong to
   * messages before the reader's start. `null` until the reader knows the position from which on it must get
   * all messages.
   */
  checked: number | null;
  /** The position of the first message that arrived while `checked` was `null`; `null` before that. */
  first: number | null;
}

/** Whether a value in a cursor is a `LostAndRepeatedJson`. */
export const isLostAndRepeated = shaped<LostAndRepeatedJson>({
  isWhole: isFlag,
  followed: recordOf(isFollowed),
});

function isFollowed(value: unknown): value is FollowedJson {
  if (!Array.isArray(value)) return false;
  const [series, acknowledged, checked, first, next, ...missing] = value as readonly unknown[];
  return (
    [series, acknowledged, checked ?? 0, first ?? 0, next].every(isCount) &&
    missing.every(range => isCounts(range) && range.length === 2)
  );
}

const isCounts = listOf(isCount);

/**
 * Detects messages that servers have stored twice or lost. Each message has its position among the messages
 * of its publisher on its subject. It also has the position below which all messages had been acknowledged
 * when it was sent. A message whose position was seen before is a repeat. An acknowledged message that has
 * not arrived before this message is lost. A message that was not acknowledged may still arrive.
 */
export class LostAndRepeated {
  readonly #followed: Map<string, Followed>;
  #isWhole: boolean;

  /** @param json The state from a cursor; for a new reader, whether it gets all messages of the stream. */
  constructor(json: LostAndRepeatedJson | { readonly isWhole: boolean }) {
    this.#isWhole = json.isWhole;
    const followed = 'followed' in json ? Object.entries(json.followed) : [];
    this.#followed = new Map(
      followed.map(([key, [series, acknowledged, checked, first, ...seen]]) => [
        key,
        { series, acknowledged, checked, first, seen: new PositionSet(seen) },
      ]),
    );
  }

  /**
   * Adds a message. Returns whether it must be delivered, because its position is new, or because it has
   * none, like messages of other programs.
   *
   * @throws DataError if the header is damaged.
   */
  admits(subject: string, headers: HeaderReader | undefined): boolean {
    const at = subjectPositionOf(headers);
    if (at === undefined) return true;
    const key = `${headers?.get(HEADERS.publisher)} ${subject}`;
    const followed = this.#follow(key, at.series);
    if (at.series < followed.series) return true;
    const isNew = followed.seen.add(at.position);
    if (followed.checked === null && isNew) {
      followed.first ??= at.position;
      // The publisher took this position after the servers had stored the reader's first message, and all higher
      // positions after that. So their messages are behind the reader's start, and it must get all of them.
      if (at.acknowledged > followed.first) followed.checked = at.position;
    }
    followed.acknowledged = Math.max(followed.acknowledged, at.acknowledged);
    return isNew;
  }

  /** Lost positions that were not reported yet. */
  get lost(): LostPositions[] {
    return this.#missing((checked, acknowledged) => [checked, acknowledged]);
  }

  /** Lost positions that were not reported yet. From now on, they count as reported. */
  takeLost(): LostPositions[] {
    const { lost } = this;
    for (const followed of this.#followed.values())
      if (followed.checked !== null)
        followed.checked = Math.max(followed.checked, followed.acknowledged);
    return lost;
  }

  /** Marks reported positions as seen, so that cursors need not store them. */
  dismiss(lost: readonly LostPositions[]): void {
    for (const { publisher, subject, ...range } of lost)
      this.#followed.get(`${publisher} ${subject}`)?.seen.fill(range);
  }

  /**
   * Resets what is expected. Call this if the stream has dropped messages, which are reported by
   * their sequences, because the next positions of each publisher are then unknown.
   */
  skip(): void {
    this.#isWhole = false;
    for (const followed of this.#followed.values()) {
      followed.checked = null;
      followed.first = null;
    }
  }

  /** The positions that may still arrive: lower than others that have arrived, and not known to be acknowledged. */
  get open(): LostPositions[] {
    return this.#missing((checked, acknowledged) => [Math.max(checked, acknowledged)]);
  }

  /** The missing positions of all publishers and subjects in a part of their positions. */
  #missing(
    partOf: (checked: number, acknowledged: number) => readonly [from: number, end?: number],
  ): LostPositions[] {
    return [...this.#followed].flatMap(([key, { seen, checked, acknowledged }]) => {
      if (checked === null) return [];
      const [publisher = '', subject = ''] = key.split(' ');
      const missing = seen.missing(...partOf(checked, acknowledged));
      return missing.map(range => ({ publisher, subject, ...range }));
    });
  }

  /** A copy for the cursor of a batch. Later changes do not affect it. */
  toJSON(): LostAndRepeatedJson {
    const followed: Record<string, FollowedJson> = {};
    for (const [key, { series, acknowledged, checked, first, seen }] of this.#followed)
      followed[key] = [series, acknowledged, checked, first, ...seen.toJSON()];
    return { isWhole: this.#isWhole, followed };
  }

  #follow(key: string, series: number): Followed {
    const before = this.#followed.get(key);
    if (before !== undefined && series <= before.series) return before;
    // In a new series, a publisher sends messages again that were not acknowledged in the series before.
    const isKnown = before === undefined ? this.#isWhole : before.checked !== null;
    const followed: Followed = {
      series,
      acknowledged: 0,
      checked: isKnown ? 0 : null,
      first: null,
      seen: new PositionSet(),
    };
    this.#followed.set(key, followed);
    return followed;
  }
}
