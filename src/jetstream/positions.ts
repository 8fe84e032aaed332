import { isCount, isFlag, listOf, recordOf, shaped } from '../json/type-guards.js';
import { epochOf, HEADERS, type HeaderReader, subjectPositionOf } from './message.js';

/** A range of sequences of a stream, or of positions of messages. Both ends are inclusive. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

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

/**
 * A set of positions as JSON: first the position after the highest one, then the ranges below it that are not
 * in the set.
 */
export type PositionSetJson = readonly [next: number, ...missing: (readonly [number, number])[]];

/**
 * A set of positions that are added nearly in order. It stores only the highest position and the missing
 * positions below it.
 */
export class PositionSet {
  #next: number;
  #missing: Range[];

  constructor([next, ...missing]: PositionSetJson = [0]) {
    this.#next = next;
    this.#missing = missing.map(([from, to]) => ({ from, to }));
  }

  /** The position after the highest position in the set. */
  get next(): number {
    return this.#next;
  }

  /** The lowest position that is not in the set. All positions below it are in the set. */
  get wholeUntil(): number {
    return this.#missing[0]?.from ?? this.#next;
  }

  /** Adds a position. Returns whether the position is new. */
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

  /** Adds the positions of a range. Ignores positions above the highest one in the set. */
  fill(range: Range): void {
    this.#missing = this.#missing.flatMap(one => without(one, range));
  }

  /**
   * Returns the positions that are not in the set, from `from` (inclusive) to `end` (exclusive). Positions
   * above the highest position in the set are not returned.
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

function without({ from, to }: Range, other: Range): Range[] {
  return [
    { from, to: Math.min(to, other.from - 1) },
    { from: Math.max(from, other.to + 1), to },
  ].filter(range => range.from <= range.to);
}

/**
 * The epochs as a cursor stores them: for each publisher and subject, the highest epoch. Each start of a
 * publisher begins an epoch.
 */
export type EpochsJson = Readonly<Record<string, number>>;

export const isEpochs = recordOf(isCount);

/**
 * Skips messages that a replaced process sent too late. Each start of a publisher begins an epoch. Before it
 * publishes posts, it sends a message without posts on each subject, which ends the previous epoch on that
 * subject. If a message with an earlier epoch comes after that, a replaced process sent it, and the new
 * process publishes its posts again. All readers come to the same decision, because the messages of a stream
 * have the same order for all of them.
 */
export class Epochs {
  readonly #highest: Map<string, number>;
  #json: EpochsJson | undefined;

  constructor(highest: EpochsJson = {}) {
    this.#highest = new Map(Object.entries(highest));
  }

  /**
   * Returns false if a message must be skipped, because its publisher has already sent a message with a
   * higher epoch on this subject. Call this for each message in the order of the stream.
   */
  admits(subject: string, headers: HeaderReader | undefined): boolean {
    const publisher = headers?.get(HEADERS.publisher) ?? '';
    // Messages from other programs have no epochs.
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

  /**
   * Returns the epochs for a cursor. Each batch has a cursor, so the same object is returned until an epoch
   * changes.
   */
  toJSON(): EpochsJson {
    this.#json ??= Object.fromEntries(this.#highest);
    return this.#json;
  }
}

/** Positions of messages that the servers have acknowledged but no longer have. */
export interface LostPositions extends Range {
  readonly publisher: string;
  readonly subject: string;
}

/** How a cursor stores the positions of one publisher on one subject. `Followed` explains the members. */
type FollowedJson = readonly [
  series: number,
  acknowledged: number,
  checked: number | null,
  first: number | null,
  ...seen: PositionSetJson,
];

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

export type LostAndRepeatedJson = {
  /**
   * Whether the reader gets all messages of the stream. If so, and the first message of a new publisher does
   * not have position 0, the earlier messages of that publisher are lost.
   */
  readonly isWhole: boolean;
  /**
   * The state of each publisher on each subject. The key is the publisher and the subject, separated by a
   * space.
   */
  readonly followed: Readonly<Record<string, FollowedJson>>;
};

interface Followed {
  readonly series: number;
  readonly seen: PositionSet;
  /**
   * The servers have acknowledged all messages below this position. Each message states such a position, and
   * this is the highest one so far.
   */
  acknowledged: number;
  /**
   * `lost` and `open` ignore missing positions below this one. `null` until the reader knows from which
   * position on it must get all messages.
   */
  checked: number | null;
  /** The position of the first message that arrived while `checked` was `null`. `null` if there was none. */
  first: number | null;
}

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
 * Detects messages that servers have stored twice or lost. Each message states its position among the
 * messages of its publisher on its subject. It also states the position below which all messages had been
 * acknowledged when it was sent. If a position was seen before, its message is a repeat. If a message had
 * been acknowledged but has not arrived before this message, it is lost. A message that was not acknowledged
 * may still arrive.
 */
export class LostAndRepeated {
  readonly #followed: Map<string, Followed>;
  #isWhole: boolean;

  /**
   * @param json The state of an earlier reader, from its cursor. A new reader passes only `isWhole`: whether
   * it gets all messages of the stream.
   */
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
   * Records the position that a message states. Returns false if that position was already seen in the
   * current series, which means that the message is a repeat. Returns true for all other messages, including
   * messages from other programs, which state no position.
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
      // When this message was sent, the first message that this reader got was already acknowledged. Messages
      // at this and higher positions were sent after that, so the reader must get all of them.
      if (at.acknowledged > followed.first) followed.checked = at.position;
    }
    followed.acknowledged = Math.max(followed.acknowledged, at.acknowledged);
    return isNew;
  }

  get lost(): LostPositions[] {
    return this.#missing((checked, acknowledged) => [checked, acknowledged]);
  }

  /** Returns the positions of lost messages, except positions that an earlier call has returned. */
  takeLost(): LostPositions[] {
    const { lost } = this;
    for (const followed of this.#followed.values())
      if (followed.checked !== null)
        followed.checked = Math.max(followed.checked, followed.acknowledged);
    return lost;
  }

  /** Marks the positions of lost messages as seen, so that cursors do not have to store them as missing. */
  dismiss(lost: readonly LostPositions[]): void {
    for (const { publisher, subject, ...range } of lost)
      this.#followed.get(`${publisher} ${subject}`)?.seen.fill(range);
  }

  /**
   * Forgets which positions are expected next. Call this if the stream has dropped messages. The next
   * positions are then unknown, and the dropped messages are reported by their sequences instead.
   */
  skip(): void {
    this.#isWhole = false;
    for (const followed of this.#followed.values()) {
      followed.checked = null;
      followed.first = null;
    }
  }

  /**
   * The missing positions whose messages may still arrive, because no message has shown that the servers had
   * acknowledged them.
   */
  get open(): LostPositions[] {
    return this.#missing((checked, acknowledged) => [Math.max(checked, acknowledged)]);
  }

  /**
   * Returns the missing positions of each publisher on each subject. `partOf` limits them to the range from
   * `from` (inclusive) to `end` (exclusive). Without `end`, the range has no upper limit.
   */
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

  /** Returns a copy for the cursor of a batch. Later changes do not affect the copy. */
  toJSON(): LostAndRepeatedJson {
    const followed: Record<string, FollowedJson> = {};
    for (const [key, { series, acknowledged, checked, first, seen }] of this.#followed)
      followed[key] = [series, acknowledged, checked, first, ...seen.toJSON()];
    return { isWhole: this.#isWhole, followed };
  }

  #follow(key: string, series: number): Followed {
    const before = this.#followed.get(key);
    if (before !== undefined && series <= before.series) return before;
    // In a new series, the publisher publishes everything again, so missing positions of the previous series
    // are forgotten. If the reader has got all messages so far, every position of the new series from 0 on
    // must arrive.
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
