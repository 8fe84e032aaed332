import { setImmediate } from 'node:timers/promises';

/** Milliseconds of work after which others get their turn. */
const TURN_MS = 10;

/** Lets the rest of the process have its turn during long work. */
export class TurnTaking {
  #began = performance.now();

  /** Whether it is time to `take` a turn: asked often, at next to no cost. */
  get isDue(): boolean {
    return performance.now() - this.#began > TURN_MS;
  }

  async take(): Promise<void> {
    await setImmediate();
    this.#began = performance.now();
  }
}
