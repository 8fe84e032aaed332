import { freeMemory } from './free-memory.js';

/** Memory that is lent part by part, and freed once every part has come back. */
export class Loan {
  readonly #memory: Uint8Array;
  /** The parts that are out, and the maker's own hold on the memory. */
  #out = 1;

  constructor(memory: Uint8Array) {
    this.#memory = memory;
  }

  /** Lends one part more, and returns what gives it back. */
  lend(): () => void {
    this.#out++;
    let out = true;
    return () => {
      if (out) this.#return();
      out = false;
    };
  }

  /** The maker will neither lend more of the memory nor touch it. Called once. */
  close(): void {
    this.#return();
  }

  #return(): void {
    if (--this.#out === 0) freeMemory(this.#memory);
  }
}
