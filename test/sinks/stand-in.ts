import type { CommittedOptions, WriteRange } from '../../src/sinks/committed.js';

/**
 * The ways in which a call to the simulated database can end. It can fail before its work or after
 * it, its response can be lost, or the process can be killed. After a kill, all calls fail until
 * the next run. A transaction can also be rolled back, at its commit or during its second `write`,
 * and then call its function again, as slonik and mongodb do.
 */
export const ENDINGS = [
  'ok',
  'fails before',
  'fails after',
  'answer lost',
  'killed before',
  'killed after',
  'called again',
  'called again in write',
] as const;

export type Ending = (typeof ENDINGS)[number];

export class StandIn<T> {
  rows: T[] = [];
  text: string | undefined;
  readonly writes: { readonly rows: readonly T[]; readonly range: WriteRange }[] = [];
  /** The number of calls so far that could have failed. */
  tries = 0;
  readonly #endings: Ending[];
  readonly #ranges = new Map<string, readonly T[]>();
  #killed = false;

  constructor(endings: readonly Ending[] = []) {
    this.#endings = [...endings];
  }

  revive(): void {
    this.#killed = false;
  }

  /**
   * The functions of a store with transactions. A transaction stores both its rows and its state,
   * or neither.
   */
  get transactions(): Pick<CommittedOptions<T>, 'load' | 'write' | 'save' | 'transaction'> {
    let begun: { rows: T[]; text: string | undefined } | undefined;
    let writesLeft = Number.POSITIVE_INFINITY;
    const open = () => {
      if (begun === undefined) throw new Error('no transaction');
      return begun;
    };
    return {
      transaction: async work =>
        this.#call(async ending => {
          if (ending.startsWith('called again')) {
            writesLeft = ending === 'called again' ? Number.POSITIVE_INFINITY : 1;
            begun = { rows: [...this.rows], text: this.text };
            await work().catch(() => {});
            writesLeft = Number.POSITIVE_INFINITY;
          }
          begun = { rows: [...this.rows], text: this.text };
          await work();
          this.rows = begun.rows;
          this.text = begun.text;
        }),
      load: () => open().text,
      write: (rows, _, range) => {
        if (writesLeft-- === 0) throw new Error('rolled back');
        this.writes.push({ rows, range });
        open().rows.push(...rows);
      },
      save: text => {
        open().text = text;
      },
    };
  }

  /** The functions of a store that ignores rows if it has already received their token. */
  get ranges(): Pick<CommittedOptions<T>, 'load' | 'write' | 'save'> {
    return {
      load: () => this.text,
      save: text =>
        this.#call(async () => {
          this.text = text;
        }),
      write: (rows, _, range) =>
        this.#call(async () => {
          this.writes.push({ rows, range });
          const before = this.#ranges.get(range.token);
          if (before !== undefined) {
            if (!range.again || JSON.stringify(before) !== JSON.stringify(rows))
              throw new RangeError(`other rows, or not said to be again, under ${range.token}`);
            return;
          }
          this.#ranges.set(range.token, rows);
          this.rows.push(...rows);
        }),
    };
  }

  async #call(work: (ending: Ending) => Promise<void>): Promise<void> {
    this.tries++;
    if (this.#killed) throw new Error('killed');
    const ending = this.#endings.shift() ?? 'ok';
    if (ending.startsWith('killed')) this.#killed = true;
    if (ending === 'fails before' || ending === 'killed before') throw new Error(ending);
    await work(ending);
    if (ending !== 'ok' && !ending.startsWith('called again')) throw new Error(ending);
  }
}
