import { join } from 'node:path';
import pLimit from 'p-limit';
import { ID_EPOCH } from '../archive/find-posts.js';
import type { Clock } from '../clock.js';
import { StateFile } from '../state-file.js';
import type { RequestedRule, RequestedRules } from './rule-requests.js';

/** A rule of the replay stream. */
export interface StreamRule {
  readonly value: string;
  readonly tag: string | null;
  /** Digits. */
  readonly id: string;
}

/** A rule of a request and its outcome. */
export interface RuleOutcome extends RequestedRule {
  /** Of the rule with this value, if it exists now. */
  readonly id?: string | undefined;
  /** Whether the rule was added, or is valid. */
  readonly done: boolean;
  /** Why not. */
  readonly message?: string | undefined;
}

/** A rule that a delete names and the stream does not have. */
export interface MissingRule {
  readonly rule: RequestedRule | { readonly id: string };
}

/** The rules of the replay stream: unique values, in order of creation. */
export class StreamRules {
  readonly #clock: Clock;
  readonly #file: StateFile<StoredRules> | undefined;
  /** By value. */
  #rules: ReadonlyMap<string, StreamRule> = new Map();
  #ids: ReadonlyMap<string, StreamRule> = new Map();
  #lastId = MIN_ID;
  #opened: Promise<void> | undefined;
  /** Serializes changes. */
  readonly #serial = pLimit(1);

  constructor(stateFolder: string | undefined, clock: Clock) {
    this.#clock = clock;
    if (stateFolder === undefined) return;
    const file = join(stateFolder, 'stream-rules', 'rules.json');
    this.#file = new StateFile(file, 'the rules of the stream');
  }

  /**
   * Loads the stored rules. Later calls return the same promise, unless it failed.
   *
   * @throws StorageError if they cannot be read.
   */
  open(): Promise<void> {
    this.#opened ??= this.#load().catch(error => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  /** Resolves once all changes are stored. The rules can be opened again. */
  async close(): Promise<void> {
    await this.#serial(() => {});
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

  /** Adds valid rules. A rule whose value exists is left unchanged. */
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

  /** Matches values case-sensitively. */
  delete(requested: RequestedRules): Promise<{ deleted: number; missing: readonly MissingRule[] }> {
    return this.#change(rules => {
      const missing: MissingRule[] = [];
      let deleted = 0;
      if ('ids' in requested) {
        for (const id of requested.ids) {
          const value = this.#ids.get(id)?.value;
          if (value !== undefined && rules.delete(value)) deleted++;
          else missing.push({ rule: { id } });
        }
      } else {
        for (const rule of requested.rules) {
          if (rules.delete(rule.value)) deleted++;
          else missing.push({ rule });
        }
      }
      return { deleted, missing };
    });
  }

  /** A change is visible once it is stored; if the write fails, nothing changes. */
  #change<Result>(change: (rules: Map<string, StreamRule>) => Result): Promise<Result> {
    return this.#serial(async () => {
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

  /** Time-based, as ids of the service are, and always greater than the last one. */
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

interface StoredRules {
  readonly lastId: string;
  readonly rules: readonly StreamRule[];
}

/** Whatever the clock says, an id has more than 53 bits. */
const MIN_ID = 1n << 59n;
