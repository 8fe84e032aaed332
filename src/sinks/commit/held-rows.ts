/** A block of encoded rows. Until the next commit, `committed` holds such blocks instead of the items. */
export class EncodedRows {
  readonly count: number;
  readonly bytes: Buffer;

  constructor(count: number, bytes: Buffer) {
    this.count = count;
    this.bytes = bytes;
  }
}

/**
 * The rows of `committed` that wait for a commit. An element is either an item, which is one row, or
 * `EncodedRows`.
 */
export class HeldRows {
  readonly #elements: unknown[] = [];
  #count = 0;

  constructor(elements: readonly unknown[] = []) {
    this.add(elements);
  }

  get count(): number {
    return this.#count;
  }

  /** The rows in the form that the caller's `write` gets: items, or blocks of bytes. */
  get rows(): readonly unknown[] {
    return this.#elements.map(element =>
      element instanceof EncodedRows ? element.bytes : element,
    );
  }

  add(elements: readonly unknown[]): void {
    for (const element of elements) {
      this.#elements.push(element);
      this.#count += rowsIn(element);
    }
  }

  append(other: HeldRows): void {
    this.add(other.#elements);
  }

  /** Splits the rows into lists of at most `max` rows. Rows that were encoded together stay together. */
  *parts(max: number): Generator<HeldRows> {
    if (this.#count <= max) {
      if (this.#count > 0) yield this;
      return;
    }
    let part = new HeldRows();
    for (const element of this.#elements) {
      if (part.count > 0 && part.count + rowsIn(element) > max) {
        yield part;
        part = new HeldRows();
      }
      part.add([element]);
    }
    yield part;
  }
}

function rowsIn(element: unknown): number {
  return element instanceof EncodedRows ? element.count : 1;
}
