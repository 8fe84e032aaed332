/** One mistake in the library, and the cells that have to notice it. */
export interface Mutant {
  readonly name: string;
  /** What the library then does. */
  readonly mistake: string;
  /** A source file below `src`, without its extension. */
  readonly file: string;
  /**
   * Code that the file has once, in TypeScript. How it is formatted does not matter, and `…` is any text without a
   * semicolon and with its brackets closed: write no more than tells the place from others.
   */
  readonly from: string;
  /** What takes its place. Each `…` is the text of the one in `from`, in their order. */
  readonly to: string;
  /** Part and cell, tried in this order until one fails. */
  readonly cells: readonly string[];
}
