import { distance } from 'fastest-levenshtein';

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
  // A word of one or two letters is close to many candidates, so it must equal a candidate, ignoring case.
  return wanted.length <= 2 && least > 0 ? undefined : best;
}

export function didYouMean(
  word: string,
  candidates: Iterable<string>,
  show: (meant: string) => string,
): string | undefined {
  const meant = closest(word, candidates);
  return meant === undefined ? undefined : `did you mean ${show(meant)}?`;
}

/**
 * Counts the edits between two words. Letters in the wrong order, as in `qeury` for `query`, count as one
 * edit.
 */
function editsBetween(word: string, candidate: string): number {
  const edits = distance(word, candidate);
  return edits > 1 && sorted(word) === sorted(candidate) ? 1 : edits;
}

function sorted(word: string): string {
  return [...word].sort().join('');
}
