import { join } from 'node:path';
import pLimit from 'p-limit';
import type { Clock } from '../clock.js';
import { ID_EPOCH } from '../id-epoch.js';
import { StateFile } from '../state-file.js';
import type { RequestedRule, RequestedRules } from './rule-requests.js';
import type { Miss, RuleOutcome } from './rule-views.js';

/** A rule of the replay stream (service.md 2.2). */
export interface StreamRule {
  readonly value: string;
  readonly tag: string | null;
  /** Digits. */
  readonly id: string;
}

/** The rules of the replay stream, no two with the same value, in the order in which they came. */
export class StreamRules {
  readonly #clock: Clock;
  readonly #file: StateFile<Kept> | undefined;
  /** By value. */
  #rules: ReadonlyMap<string, StreamRule> = new Map();
  #ids: ReadonlyMap<string, StreamRule> = new Map();
  #lastId = LEAST_ID;
  #opened: Promise<void> | undefined;
  /** Changes follow each other. */
  readonly #inTurn = pLimit(1);

  constructor(stateFolder: string | undefined, clock: Clock) {
    this.#clock = clock;
    if (stateFolder === undefined) return;
    const file = join(stateFolder, 'stream-rules', 'rules.json');
    this.#file = new StateFile(file, 'the rules of the stream');
  }

  /**
   * Reads the rules that were kept; the second time nothing.
   *
   * @throws StorageError when they cannot be read.
   */
  open(): Promise<void> {
    this.#opened ??= this.#load();
    return this.#opened;
  }

  /** All is kept when it resolves. The rules can be opened again. */
  async close(): Promise<void> {
    await this.#inTurn(() => {});
    this.#opened = undefined;
  }

  get size(): number {
    return this.#rules.size;
  }

  all(): readonly StreamRule[] {
    return [...this.#rules.values()];
  }

  find(id: string): StreamRule | undefined {
    return this.#ids.get(id);
  }

  /** Adds rules that are valid. One of a value that is there already stays as it is. */
  add(requested: readonly RequestedRule[]): Promise<readonly RuleOutcome[]> {
    return this.#change(rules => {
      const outcomes = requested.map((rule): RuleOutcome => {
        const known = rules.get(rule.value);
        if (known !== undefined)
          return {
            ...rule,
            id: known.id,
            done: false,
            message: 'A rule with this value already exists',
          };
        const added = { ...rule, id: this.#newId() };
        rules.set(rule.value, added);
        return { ...added, done: true };
      });
      return outcomes;
    });
  }

  /** Matches values case-sensitively (service.md 4.4 rule 3). */
  delete(requested: RequestedRules): Promise<{ deleted: number; misses: readonly Miss[] }> {
    return this.#change(rules => {
      const misses: Miss[] = [];
      let deleted = 0;
      if ('ids' in requested) {
        for (const id of requested.ids) {
          const value = this.#ids.get(id)?.value;
          if (value !== undefined && rules.delete(value)) deleted++;
          else misses.push({ rule: { id } });
        }
      } else {
        for (const rule of requested.rules) {
          if (rules.delete(rule.value)) deleted++;
          else misses.push({ rule });
        }
      }
      return { deleted, misses };
    });
  }

  /** What is changed is there when it is kept, or not at all. */
  #change<Result>(change: (rules: Map<string, StreamRule>) => Result): Promise<Result> {
    return this.#inTurn(async () => {
      await this.open();
      const rules = new Map(this.#rules);
      const result = change(rules);
      await this.#file?.write({ lastId: String(this.#lastId), rules: [...rules.values()] });
      this.#set(rules);
      return result;
    });
  }

  #set(rules: ReadonlyMap<string, StreamRule>): void {
    this.#rules = rules;
    this.#ids = new Map([...rules.values()].map(rule => [rule.id, rule]));
  }

  /** From the time, as ids of the service are, and never one that was given before. */
  #newId(): string {
    const timely = BigInt(Math.floor(this.#clock.now()) - ID_EPOCH) << 22n;
    this.#lastId = timely > this.#lastId ? timely : this.#lastId + 1n;
    return String(this.#lastId);
  }

  async #load(): Promise<void> {
    await this.#file?.read(({ rules, lastId }) => {
      this.#lastId = BigInt(lastId);
      this.#set(new Map(rules.map(rule => [rule.value, rule])));
    });
  }
}

interface Kept {
  readonly lastId: string;
  readonly rules: readonly StreamRule[];
}

/** Whatever the clock says, no id fits in 53 bits. */
const LEAST_ID = 1n << 59n;
