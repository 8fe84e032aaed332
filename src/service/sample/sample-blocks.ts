import type { Activity, Format } from '../../activity/activity.js';
import {
  DAY,
  FIRST_POST,
  floorTo,
  HOUR,
  MINUTE,
  SECOND,
  SEGMENT,
  type Window,
} from '../../time.js';
import type { Block, Blocks } from '../archive/block.js';
import { Ordinals } from '../archive/ordinals.js';
import { idOf, type SampleDraft, type SampleDrafts } from './sample-draft.js';
import { renderActivity } from './sample-posts.js';
import { isReactionTerm, SampleReactions } from './sample-reactions.js';
import { SampleTerms } from './sample-terms.js';

/** Most posts in a block, about: few, so that a first page is made from little more than it shows. */
const BLOCK_POSTS = 1024;
/** Posts whose terms are kept, some 200 bytes each. */
const KEPT_POSTS = 400_000;

/** The sample archive in blocks of the same length, an hour unless there are many posts or few. */
export class SampleBlocks implements Blocks {
  readonly #drafts: SampleDrafts;
  readonly #terms: SampleTerms;
  readonly #format: Format;
  readonly #length: number;
  /** The latest used come last. */
  readonly #recent = new Map<number, SampleBlock>();
  #kept = 0;

  constructor(drafts: SampleDrafts, format: Format, postsPerMinute: number) {
    this.#drafts = drafts;
    this.#terms = new SampleTerms(drafts);
    this.#format = format;
    const fits = (length: number) => (postsPerMinute * length) / MINUTE <= BLOCK_POSTS;
    this.#length = [DAY, HOUR, SEGMENT].find(fits) ?? MINUTE;
  }

  *within({ from, to }: Window): Generator<Window> {
    const length = this.#length;
    for (let at = floorTo(length, Math.max(from, FIRST_POST)); at < to; at += length)
      yield { from: at, to: at + length };
  }

  async open({ from, to }: Window): Promise<Block> {
    let block = this.#recent.get(from);
    if (block === undefined) {
      block = new SampleBlock(from, to, this.#drafts, this.#terms, this.#format);
      this.#kept += block.count;
    }
    this.#recent.delete(from);
    this.#recent.set(from, block);
    for (const [key, { count }] of this.#recent) {
      if (this.#kept <= KEPT_POSTS || key === from) break;
      this.#recent.delete(key);
      this.#kept -= count;
    }
    return block;
  }

  async close(): Promise<void> {
    this.#recent.clear();
    this.#kept = 0;
  }
}

class SampleBlock implements Block {
  readonly count: number;
  readonly #drafts: SampleDrafts;
  readonly #terms: SampleTerms;
  readonly #format: Format;
  readonly #firstMinute: number;
  /** How many posts come before each minute. */
  readonly #before: Int32Array;
  #index: TermIndex | undefined;
  #reactions: SampleReactions | undefined;

  constructor(from: number, to: number, drafts: SampleDrafts, terms: SampleTerms, format: Format) {
    this.#drafts = drafts;
    this.#terms = terms;
    this.#format = format;
    this.#firstMinute = from / MINUTE;
    this.#before = new Int32Array((to - from) / MINUTE + 1);
    let count = 0;
    for (let i = 1; i < this.#before.length; i++) {
      count += drafts.countAt(this.#firstMinute + i - 1);
      this.#before[i] = count;
    }
    this.count = count;
  }

  timeAt(ordinal: number): number {
    const [minute, index] = this.#placeOf(ordinal);
    return floorTo(SECOND, this.#drafts.timeOf(minute, index));
  }

  idAt(ordinal: number): string {
    return idOf(this.#drafts.head(...this.#placeOf(ordinal)));
  }

  postings(term: string): Ordinals {
    if (isReactionTerm(term)) {
      this.#reactions ??= new SampleReactions(this.count, ordinal =>
        this.#drafts.head(...this.#placeOf(ordinal)),
      );
      return this.#reactions.postings(term);
    }
    this.#index ??= this.#makeIndex();
    const found = new Ordinals(this.count);
    const { numbers, starts } = this.#index;
    for (const wanted of this.#terms.numbersOf(term)) {
      let ordinal = 0;
      for (let at = numbers.indexOf(wanted); at !== -1; ) {
        while ((starts[ordinal + 1] as number) <= at) ordinal++;
        if (!SampleTerms.isHash(wanted) || this.#terms.has(this.#draftAt(ordinal), term))
          found.add(ordinal);
        at = numbers.indexOf(wanted, starts[ordinal + 1]);
      }
    }
    return found;
  }

  async load(ordinals: readonly number[]): Promise<readonly Activity[]> {
    return ordinals.map(ordinal =>
      renderActivity(this.#draftAt(ordinal), this.#drafts, this.#format),
    );
  }

  #makeIndex(): TermIndex {
    const starts = new Int32Array(this.count + 1);
    const numbers: number[] = [];
    for (let ordinal = 0; ordinal < this.count; ordinal++) {
      this.#terms.collect(this.#draftAt(ordinal), numbers);
      starts[ordinal + 1] = numbers.length;
    }
    return { starts, numbers: Int32Array.from(numbers) };
  }

  #draftAt(ordinal: number): SampleDraft {
    return this.#drafts.draft(...this.#placeOf(ordinal));
  }

  /** Minute and number in the minute; the newest post has ordinal 0. */
  #placeOf(ordinal: number): [minute: number, index: number] {
    const position = this.count - 1 - ordinal;
    let low = 0;
    let high = this.#before.length - 1;
    while (low + 1 < high) {
      const middle = (low + high) >>> 1;
      if ((this.#before[middle] as number) <= position) low = middle;
      else high = middle;
    }
    return [this.#firstMinute + low, position - (this.#before[low] as number)];
  }
}

/** The numbers of every post's terms, one post after the other. */
interface TermIndex {
  readonly starts: Int32Array;
  readonly numbers: Int32Array;
}
