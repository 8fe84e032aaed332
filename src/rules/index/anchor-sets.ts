/** How common terms are. */
export interface Frequencies {
  /** The fraction of posts that have the term, 0 to 1. */
  frequency(term: number): number;
}

/**
 * The sets of terms that rules may be indexed under, one after the other: for each, its length and its terms. Those of
 * one rule are between two positions.
 */
export type AnchorSets = Int32Array;

/** The fraction of posts that have a term of the set at a position, at most. */
export function costOfSet(sets: AnchorSets, at: number, frequencies: Frequencies): number {
  const length = sets[at]!;
  let cost = 0;
  for (let i = at + 1; i <= at + length; i++) cost += frequencies.frequency(sets[i]!);
  return cost;
}

/** The position of the set that the fewest posts have. */
export function rarestSetAt(
  sets: AnchorSets,
  start: number,
  end: number,
  frequencies: Frequencies,
): number {
  let best = start;
  let cost = Number.POSITIVE_INFINITY;
  for (let at = start; at < end; at += 1 + sets[at]!) {
    const found = costOfSet(sets, at, frequencies);
    if (found >= cost) continue;
    cost = found;
    best = at;
  }
  return best;
}

/** The rarest term that forms a set alone, other than the one at a position; -1 if no other term does. */
export function secondTerm(
  sets: AnchorSets,
  start: number,
  end: number,
  current: number,
  frequencies: Frequencies,
): number {
  let second = -1;
  let cost = Number.POSITIVE_INFINITY;
  for (let at = start; at < end; at += 1 + sets[at]!) {
    if (at === current || sets[at] !== 1) continue;
    const found = frequencies.frequency(sets[at + 1]!);
    if (found >= cost) continue;
    cost = found;
    second = sets[at + 1]!;
  }
  return second;
}
