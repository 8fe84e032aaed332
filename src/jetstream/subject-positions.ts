import { DataError } from '../errors.js';
import { isCount } from '../json/json-checks.js';
import type { Range } from './lost-sequences.js';
import { HEADERS, type HeaderReader } from './message.js';
import { PositionSet, type PositionSetJson } from './position-set.js';

/** The position of a message among those of its publisher and subject. */
export interface SubjectPosition {
  /** How many messages came before it: each has another position, without a gap, over all runs of the publisher. */
  readonly position: number;
  /** All positions below this one were acknowledged when it got its position, so the stream has them before it. */
  readonly acknowledged: number;
  /** When the count began; a publisher whose entry was deleted begins another one. */
  readonly series: number;
}

/** Positions that the stream has acknowledged and no longer has. */
export interface LostPositions extends Range {
  readonly publisher: string;
  readonly subject: string;
}

/** What a reader knows of a publisher on a subject, as a cursor has it. */
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

/** As a cursor has it: by publisher and subject, and whether a publisher that is new to it begins at 0. */
export type SubjectPositionsJson = {
  readonly isWhole: boolean;
  readonly followed: Readonly<Record<string, FollowedJson>>;
};

interface Followed {
  readonly series: number;
  readonly seen: PositionSet;
  /** All positions below this one must have come. */
  acknowledged: number;
  /** The missing positions below this one are reported or not expected; `null` while it is unknown where to begin. */
  checked: number | null;
  /** Meanwhile: the first position that came. */
  first: number | null;
}

const PATTERN = /^(\d{1,15}) (\d{1,15}) (\d{1,15})$/;

export function shownPosition({ position, acknowledged, series }: SubjectPosition): string {
  return `${position} ${acknowledged} ${series}`;
}

/** The position of a message; none for one of another program. */
export function subjectPositionOf(headers: HeaderReader | undefined): SubjectPosition | undefined {
  const text = headers?.get(HEADERS.subjectPosition) ?? '';
  if (text === '') return undefined;
  const [, position, acknowledged, series] = PATTERN.exec(text) ?? [];
  if (series === undefined)
    throw new DataError(
      `A message has the header ${HEADERS.subjectPosition} ${JSON.stringify(text.slice(0, 60))}, and not three whole numbers`,
    );
  return {
    position: Number(position),
    acknowledged: Number(acknowledged),
    series: Number(series),
  };
}

/** Whether a value of a cursor is the state of positions. */
export function isSubjectPositions(value: unknown): value is SubjectPositionsJson {
  const { isWhole, followed } = (value ?? {}) as Partial<SubjectPositionsJson>;
  if (typeof isWhole !== 'boolean' || typeof followed !== 'object' || followed === null)
    return false;
  return Object.values(followed).every(one => {
    if (!Array.isArray(one)) return false;
    const [series, acknowledged, checked, first, next, ...missing] = one as readonly unknown[];
    return (
      [series, acknowledged, checked ?? 0, first ?? 0, next].every(isCount) &&
      missing.every(range => Array.isArray(range) && range.length === 2 && range.every(isCount))
    );
  });
}

/**
 * Finds what servers have stored twice and what they have lost. Each message says its position within its subject,
 * and up to which one all were acknowledged before it was sent. So a position that was seen before is a repeat, and
 * one that was acknowledged and did not come before this message is lost; without an acknowledgement, it may yet come.
 */
export class SubjectPositions {
  readonly #followed: Map<string, Followed>;
  #isWhole: boolean;

  /** @param json The state of a cursor, or whether all messages of the stream come from its first one on. */
  constructor(json: SubjectPositionsJson | { readonly isWhole: boolean }) {
    this.#isWhole = json.isWhole;
    const followed = 'followed' in json ? Object.entries(json.followed) : [];
    this.#followed = new Map(
      followed.map(([key, [series, acknowledged, checked, first, ...seen]]) => [
        key,
        { series, acknowledged, checked, first, seen: new PositionSet(seen) },
      ]),
    );
  }

  /** Adds a message. Returns whether to deliver it: one without a position, or with one that is new. */
  admits(subject: string, headers: HeaderReader | undefined): boolean {
    const at = subjectPositionOf(headers);
    if (at === undefined) return true;
    const key = `${headers?.get(HEADERS.publisher)} ${subject}`;
    const followed = this.#follow(key, at.series);
    if (at.series < followed.series) return true;
    const isNew = followed.seen.add(at.position);
    if (followed.checked === null && isNew) {
      followed.first ??= at.position;
      // This position and all behind it were given out after the first one was stored.
      if (at.acknowledged > followed.first) followed.checked = at.position;
    }
    followed.acknowledged = Math.max(followed.acknowledged, at.acknowledged);
    return isNew;
  }

  /** What is lost and was not reported. */
  get lost(): LostPositions[] {
    return [...this.#followed].flatMap(([key, { seen, checked, acknowledged }]) => {
      if (checked === null || checked >= acknowledged) return [];
      const [publisher = '', subject = ''] = key.split(' ');
      return seen.missing(checked, acknowledged).map(range => ({ publisher, subject, ...range }));
    });
  }

  /** What is lost, which counts as reported from now on. */
  takeLost(): LostPositions[] {
    const { lost } = this;
    for (const followed of this.#followed.values())
      if (followed.checked !== null)
        followed.checked = Math.max(followed.checked, followed.acknowledged);
    return lost;
  }

  /** Counts positions as seen: they are reported, so that a cursor need not keep them. */
  dismiss(lost: readonly LostPositions[]): void {
    for (const { publisher, subject, ...range } of lost)
      this.#followed.get(`${publisher} ${subject}`)?.seen.fill(range);
  }

  /** Messages are gone that were reported otherwise, so that the next positions may be any. */
  skip(): void {
    this.#isWhole = false;
    for (const followed of this.#followed.values()) {
      followed.checked = null;
      followed.first = null;
    }
  }

  /** What may yet come: positions below others that came, and not acknowledged before those. */
  get open(): LostPositions[] {
    return [...this.#followed].flatMap(([key, { seen, checked, acknowledged }]) => {
      if (checked === null) return [];
      const [publisher = '', subject = ''] = key.split(' ');
      const from = Math.max(checked, acknowledged);
      return seen.missing(from).map(range => ({ publisher, subject, ...range }));
    });
  }

  /** For a batch, so it shares nothing with what changes later. */
  toJSON(): SubjectPositionsJson {
    const followed: Record<string, FollowedJson> = {};
    for (const [key, { series, acknowledged, checked, first, seen }] of this.#followed)
      followed[key] = [series, acknowledged, checked, first, ...seen.toJSON()];
    return { isWhole: this.#isWhole, followed };
  }

  #follow(key: string, series: number): Followed {
    const before = this.#followed.get(key);
    if (before !== undefined && series <= before.series) return before;
    // What the count before has not acknowledged, its publisher sends again in this one.
    const isKnown = before === undefined ? this.#isWhole : before.checked !== null;
    const followed: Followed = {
      ...{ series, acknowledged: 0, checked: isKnown ? 0 : null, first: null },
      seen: new PositionSet(),
    };
    this.#followed.set(key, followed);
    return followed;
  }
}
