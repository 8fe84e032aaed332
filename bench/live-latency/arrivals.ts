/**
 * Records when each message arrives, in microseconds of the monotonic clock. After the last
 * message, sends the times to the parent process.
 */
export class Arrivals {
  readonly #all: number[] = [];
  readonly #wanted: number;
  readonly #warmUp: number;
  #before = process.cpuUsage();

  constructor([wanted, warmUp]: readonly string[]) {
    this.#wanted = Number(wanted);
    this.#warmUp = Number(warmUp);
  }

  /**
   * Records the arrival of a message. Returns whether it was the last one. Throws if `id` is not
   * the next expected id, which means that a message is missing.
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

export function parsed(arrivals: Arrivals): (line: string) => void {
  return line => {
    if (line !== '') arrivals.add((JSON.parse(line) as Message).delete.status.id_str);
  };
}
