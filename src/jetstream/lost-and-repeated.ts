import { isCount, isFlag, listOf, recordOf, shaped } from '../json/type-guards.js';
import { HEADERS, type HeaderReader, subjectPositionOf } from './headers.js';
import { PositionSet, type PositionSetJson, type Range } from './ranges.js';

/** Positions whose messages the servers acknowledged and do not have. */
export interface LostPositions extends Range {
  readonly publisher: string;
  readonly subject: string;
}

/** What a cursor keeps of a publisher on a subject: the members of `Followed`. */
type FollowedJson = readonly [
  series: number,
  acknowledged: number,
  checked: number | null,
  first: number | null,
  ...seen: PositionSetJson,
];

/** The positions that are in both lists. */
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

/** What a cursor keeps of all publishers and subjects. */
export type LostAndRepeatedJson = {
  /** Whether the reader has all messages of the stream, so that a publisher it has not met yet begins at position 0. */
  readonly isWhole: boolean;
  /** By publisher and subject. */
  readonly followed: Readonly<Record<string, FollowedJson>>;
};

/** What a reader knows of a publisher on a subject. */
interface Followed {
  readonly series: number;
  /** The positions of messages that have come. */
  readonly seen: PositionSet;
  /** The servers acknowledged all positions below this one before they stored the messages that have come. */
  acknowledged: number;
  /**
   * Missing positions below this one need no report: they were reported, or belong to messages before those that this
   * reader reads. `null` until the reader knows from which position on it must get all.
   */
  checked: number | null;
  /** The position of the first message that the reader got while `checked` was `null`; `null` until it got one. */
  first: number | null;
}

/** Whether a value of a cursor is a `LostAndRepeatedJson`. */
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
 * Finds out which messages servers have stored twice and which they have lost. Each message says its position among
 * those of its publisher and subject, and below which position all were acknowledged before it was sent. So a message
 * whose position has come before is a repeat. A position that was acknowledged, and whose message did not come before
 * this one, is lost; one that was not acknowledged may still come.
 */
export class LostAndRepeated {
  readonly #followed: Map<string, Followed>;
  #isWhole: boolean;

  /** @param json What a cursor has kept, or for a new reader whether it gets all messages from the first one on. */
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
   * Adds a message. Returns whether to deliver it: where its position is new, or it has none, as those of other programs.
   *
   * @throws DataError where the header is damaged.
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
      // The publisher took this position after the servers had stored the first one, as it did all higher positions. So
      // their messages are after the place where the reader began, and it must get all of them.
      if (at.acknowledged > followed.first) followed.checked = at.position;
    }
    followed.acknowledged = Math.max(followed.acknowledged, at.acknowledged);
    return isNew;
  }

  /** The positions that are lost and were not reported. */
  get lost(): LostPositions[] {
    return this.#missing((checked, acknowledged) => [checked, acknowledged]);
  }

  /** The positions that are lost and were not reported; they count as reported from now on. */
  takeLost(): LostPositions[] {
    const { lost } = this;
    for (const followed of this.#followed.values())
      if (followed.checked !== null)
        followed.checked = Math.max(followed.checked, followed.acknowledged);
    return lost;
  }

  /** Counts positions as seen after they were reported, so that a cursor need not keep them. */
  dismiss(lost: readonly LostPositions[]): void {
    for (const { publisher, subject, ...range } of lost)
      this.#followed.get(`${publisher} ${subject}`)?.seen.fill(range);
  }

  /**
   * Forgets what was expected. To be called where the stream has dropped messages, which are reported by their sequences:
   * the next positions of each publisher are then unknown.
   */
  skip(): void {
    this.#isWhole = false;
    for (const followed of this.#followed.values()) {
      followed.checked = null;
      followed.first = null;
    }
  }

  /** The positions that may still come: higher ones have come, and they are not known to be acknowledged. */
  get open(): LostPositions[] {
    return this.#missing((checked, acknowledged) => [Math.max(checked, acknowledged)]);
  }

  /** The missing positions of all publishers and subjects within a part of their positions. */
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

  /** A copy for the cursor of a batch: later changes do not reach it. */
  toJSON(): LostAndRepeatedJson {
    const followed: Record<string, FollowedJson> = {};
    for (const [key, { series, acknowledged, checked, first, seen }] of this.#followed)
      followed[key] = [series, acknowledged, checked, first, ...seen.toJSON()];
    return { isWhole: this.#isWhole, followed };
  }

  #follow(key: string, series: number): Followed {
    const before = this.#followed.get(key);
    if (before !== undefined && series <= before.series) return before;
    // In a new series, its publisher sends again what was not acknowledged in the series before.
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
