import { group, type OptionTable, optionError, whole } from '../base/check.js';
import { IncompleteError } from '../base/errors.js';

/** The option `budget` of a search: how much one run may spend. */
export interface Budget {
  /** The maximum number of requests. Each retry counts as a request. */
  readonly requests?: number | undefined;
  /** The maximum number of posts that the service may send. Must be at least `maxResults`. */
  readonly posts?: number | undefined;
}

export const BUDGET_OPTION = group<Budget>('what one run may spend', {
  requests: whole('requests of a run', { min: 1 }),
  posts: whole('posts of a run', { min: 1 }),
} satisfies OptionTable<Budget>);

export class Spending {
  readonly #budget: Budget;
  readonly #pageSize: number;
  #requests = 0;
  #posts = 0;

  /** @param pageSize The maximum number of posts in a page. */
  constructor(budget: Budget, pageSize: number) {
    this.#budget = budget;
    this.#pageSize = pageSize;
  }

  /**
   * Counts a request before it is sent.
   *
   * @throws IncompleteError If the request could exceed the budget.
   */
  request(): void {
    const { requests = Number.POSITIVE_INFINITY, posts = Number.POSITIVE_INFINITY } = this.#budget;
    if (this.#requests >= requests)
      throw spent(`The budget of ${requests} requests for this run is spent`);
    if (this.#posts + this.#pageSize > posts)
      throw spent(
        `This run has received ${this.#posts} posts, and another page of up to ${this.#pageSize} could exceed its budget of ${posts}`,
      );
    this.#requests++;
  }

  received(posts: number): void {
    this.#posts += posts;
  }
}

function spent(message: string): IncompleteError {
  return new IncompleteError(message, {
    missing: ['the pages that were not requested'],
    reason: 'budget',
  });
}

/**
 * Refuses a budget for more than one slice, and a budget of fewer posts than a page may have (`maxResults`).
 *
 * @throws OptionError
 */
export function checkBudget(
  budget: Budget,
  { maxResults, slices }: { readonly maxResults: number; readonly slices: number },
): void {
  const { requests, posts } = budget;
  if (requests === undefined && posts === undefined) return;
  if (slices > 1)
    throw optionError(
      'search',
      'budget',
      'cannot be combined with `slices`: pages of later slices would be paid for and not delivered',
    );
  if (posts !== undefined && posts < maxResults)
    throw optionError(
      'search',
      'budget.posts',
      `is ${posts}, and a page may have ${maxResults}: pass a lower \`maxResults\``,
    );
}
