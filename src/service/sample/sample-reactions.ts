import { DocumentSet } from '../archive/document-set.js';
import { idOf, type SampleHead } from './sample-draft.js';

/** The prefixes of terms that name a shared or replied-to post, by the kind of the reaction. */
const PREFIXES: Readonly<Record<string, string>> = {
  retweet: 'retweets_of_status_id:',
  reply: 'in_reply_to_status_id:',
};

/** Whether a term names a shared or replied-to post. */
export function isReactionTerm(term: string): boolean {
  return Object.values(PREFIXES).some(prefix => term.startsWith(prefix));
}

/**
 * The documents of a block by the post that they share or reply to. The head of a post has it, so no
 * text is generated: a search of 30 days for the shares of one post takes 0.2 s, instead of 2.3 s
 * with `SampleTerms`. Engagement totals need such a search for each post.
 */
export class SampleReactions {
  readonly #count: number;
  readonly #documents = new Map<string, number[]>();

  constructor(count: number, headAt: (document: number) => SampleHead) {
    this.#count = count;
    for (let document = 0; document < count; document++) {
      const { kind, target } = headAt(document);
      const prefix = PREFIXES[kind];
      if (target === undefined || prefix === undefined) continue;
      const term = prefix + idOf(target);
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
