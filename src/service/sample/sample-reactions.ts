import { DocumentSet } from '../archive/document-set.js';
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
  readonly #documents = new Map<string, number[]>();

  constructor(count: number, headAt: (document: number) => SampleHead) {
    this.#count = count;
    for (let document = 0; document < count; document++) {
      const { kind, target } = headAt(document);
      const start = TERMS[kind];
      if (target === undefined || start === undefined) continue;
      const term = start + idOf(target);
      const known = this.#documents.get(term);
      if (known === undefined) this.#documents.set(term, [document]);
      else known.push(document);
    }
  }

  postings(term: string): DocumentSet {
    const found = new DocumentSet(this.#count);
    for (const document of this.#documents.get(term) ?? []) found.add(document);
    return found;
  }
}
