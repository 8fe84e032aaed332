import { distance } from 'fastest-levenshtein';

/** The candidate that a misspelt word most likely stands for; `undefined` where none is near. */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  const wanted = word.toLowerCase();
  if (wanted.length > 40) return undefined;
  let best: string | undefined;
  let least = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    const edits = editsBetween(wanted, candidate.toLowerCase());
    if (edits >= least) continue;
    best = candidate;
    least = edits;
  }
  // A word of two letters or fewer is near to everything.
  return wanted.length <= 2 && least > 0 ? undefined : best;
}

/** `did you mean X?`, with X as `show` writes it; `undefined` where no candidate is near. */
export function didYouMean(
  word: string,
  candidates: Iterable<string>,
  show: (meant: string) => string,
): string | undefined {
  const meant = closest(word, candidates);
  return meant === undefined ? undefined : `did you mean ${show(meant)}?`;
}

/** Letters in another order are one slip, whatever their distance: `qeury`. */
function editsBetween(word: string, candidate: string): number {
  const edits = distance(word, candidate);
  return edits > 1 && sorted(word) === sorted(candidate) ? 1 : edits;
}

function sorted(word: string): string {
  return [...word].sort().join('');
}
