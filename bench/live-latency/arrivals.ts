/**
 * Records when each message arrives, in microseconds of the machine's clock, until all messages
 * have arrived.
 */
export class Arrivals {
  readonly #all: number[] = [];
  readonly #wanted: number;
  readonly #warmUp: number;
  /** The CPU usage at the time when the messages that are measured start. */
  #before = process.cpuUsage();

  /**
   * Takes the two arguments from the parent process: the total number of messages, and how many of
   * these are for warm-up.
   */
  constructor([wanted, warmUp]: readonly string[]) {
    this.#wanted = Number(wanted);
    this.#warmUp = Number(warmUp);
  }

  /**
   * Adds a message. Returns whether it was the last one. Ids are consecutive, so a lost message is
   * noticed.
   */
  add(id: string | undefined): boolean {
    const at = Number(process.hrtime.bigint() / 1_000n);
    if (id !== String(1_700_000_000_000_000_000n + BigInt(this.#all.length)))
      throw new Error(`${id} came as message ${this.#all.length}`);
    this.#all.push(at);
    if (this.#all.length === this.#warmUp) this.#before = process.cpuUsage();
    if (this.#all.length < this.#wanted) return false;
    const { user, system } = process.cpuUsage(this.#before);
    process.send?.({ arrivals: this.#all, cpuMs: (user + system) / 1_000 });
    return true;
  }
}

interface Message {
  readonly delete: { readonly status: { readonly id_str: string } };
}

/** Returns a function that parses each line as a hand-written script would. */
export function parsed(arrivals: Arrivals): (line: string) => void {
  return line => {
    if (line !== '') arrivals.add((JSON.parse(line) as Message).delete.status.id_str);
  };
}
