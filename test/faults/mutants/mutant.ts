/** One mistake in the library, and the cells that have to notice it. */
export interface Mutant {
  readonly name: string;
  /** What the library then does. */
  readonly mistake: string;
  /** A source file below `src`, without its extension. */
  readonly file: string;
  /** Text that the file has once, in TypeScript. */
  readonly from: string;
  readonly to: string;
  /** Part and cell, tried in this order until one fails. */
  readonly cells: readonly string[];
}
