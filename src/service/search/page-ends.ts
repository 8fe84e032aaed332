import type { Window } from '../../base/time.js';
import type { SortKey } from '../archive/archive.js';

/** The end of a page of posts. */
export interface PostsEnd {
  /** The position at which the time limit has ended the page; absent if it did not. */
  readonly reached?: SortKey | undefined;
}

/** The end of a page of counts, given as the span of time that the page covers. */
export type CountsEnd = Window;

/** The number of pages whose ends are kept. If there are more, the oldest is dropped. */
const MAX_PAGES = 10_000;

/**
 * The ends of pages, by the `next` of their requests. A repeated request then gets the same page, although the
 * time limit would now end the page elsewhere.
 */
export class PageEnds<End extends object> {
  readonly #ends = new Map<string, End>();

  get(next: string | undefined): End | undefined {
    return next === undefined ? undefined : this.#ends.get(next);
  }

  /**
   * Keeps the end of a page. Does nothing without `next`: a request without `next` always gets a new first
   * page.
   */
  set(next: string | undefined, end: End): void {
    if (next === undefined) return;
    this.#ends.set(next, end);
    const [oldest = next] = this.#ends.keys();
    if (this.#ends.size > MAX_PAGES) this.#ends.delete(oldest);
  }
}
