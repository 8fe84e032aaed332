import { Ordinals } from '../archive/ordinals.js';
import { idOf, type SampleHead } from './sample-draft.js';

/** Terms of what a post shares or answers, by the kind of post. */
const TERMS: Readonly<Record<string, string>> = {
  retweet: 'retweets_of_status_id:',
  reply: 'in_reply_to_status_id:',
};

/** Whether a term names a post that is shared or answered. */
export function isReactionTerm(term: string): boolean {
  return Object.values(TERMS).some(start => term.startsWith(start));
}

/**
 * Posts of a block by those that they share or answer. Their heads tell; no text has to be made, as
 * for all other terms, which takes most of the time where only these are asked for.
 */
export class SampleReactions {
  readonly #count: number;
  readonly #ordinals = new Map<string, number[]>();

  constructor(count: number, headAt: (ordinal: number) => SampleHead) {
    this.#count = count;
    for (let ordinal = 0; ordinal < count; ordinal++) {
      const { kind, target } = headAt(ordinal);
      const start = TERMS[kind];
      if (target === undefined || start === undefined) continue;
      const term = start + idOf(target);
      const known = this.#ordinals.get(term);
      if (known === undefined) this.#ordinals.set(term, [ordinal]);
      else known.push(ordinal);
    }
  }

  postings(term: string): Ordinals {
    const found = new Ordinals(this.#count);
    for (const ordinal of this.#ordinals.get(term) ?? []) found.add(ordinal);
    return found;
  }
}
