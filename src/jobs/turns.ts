/** The turn of one call. */
export interface Turn {
  /** Settles when all earlier turns have ended. */
  readonly begin: Promise<void>;
  end(): void;
}

/** Brings what concurrent calls do into the order in which their turns were taken. */
export class Turns {
  #last = Promise.resolve();

  next(): Turn {
    const begin = this.#last;
    let end = () => {};
    const ended = new Promise<void>(resolve => {
      end = resolve;
    });
    this.#last = begin.then(() => ended);
    return { begin, end };
  }
}
