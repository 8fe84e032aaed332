/** Finds items in the bytes of one file or document, which arrive in blocks that are cut anywhere. */
export interface Framer<T> {
  /**
   * Adds to `items` those that end in this block. Items may be views of the block; bytes that the
   * framer keeps for later it copies, as the memory of a block may be released after use.
   */
  push(block: Buffer, items: T[]): undefined | Promise<void>;
  /** Ends the file or document: adds the last items, or throws where the data is cut short. */
  end(items: T[]): void | Promise<void>;
}
