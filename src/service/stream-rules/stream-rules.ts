import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StorageError } from '../../errors.js';
import type { Clock } from '../clock.js';
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
  readonly #file: string | undefined;
  /** By value. */
  #rules: ReadonlyMap<string, StreamRule> = new Map();
  #ids: ReadonlyMap<string, StreamRule> = new Map();
  #lastId = LEAST_ID;
  #opened: Promise<void> | undefined;
  /** Changes follow each other. */
  #changing: Promise<unknown> = Promise.resolve();

  constructor(stateFolder: string | undefined, clock: Clock) {
    this.#clock = clock;
    this.#file = stateFolder && join(stateFolder, 'stream-rules', 'rules.json');
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
    await this.#changing.catch(() => {});
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
    const changed = this.#changing
      .catch(() => {}) // whoever asked for the one before knows
      .then(async () => {
        await this.open();
        const rules = new Map(this.#rules);
        const result = change(rules);
        await this.#save(rules);
        this.#set(rules);
        return result;
      });
    this.#changing = changed;
    return changed;
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
    if (this.#file === undefined) return;
    let text: string;
    try {
      text = await readFile(this.#file, 'utf8');
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw this.#storageError('read', cause);
    }
    try {
      const { rules, lastId } = JSON.parse(text) as Kept;
      this.#lastId = BigInt(lastId);
      this.#set(new Map(rules.map(rule => [rule.value, rule])));
    } catch (cause) {
      throw new StorageError(`Not what the service wrote: ${this.#file}; remove it`, {
        path: this.#file,
        cause,
      });
    }
  }

  async #save(rules: ReadonlyMap<string, StreamRule>): Promise<void> {
    if (this.#file === undefined) return;
    const kept: Kept = { lastId: String(this.#lastId), rules: [...rules.values()] };
    const aside = `${this.#file}.part`;
    try {
      await mkdir(dirname(this.#file), { recursive: true });
      await writeFile(aside, JSON.stringify(kept));
      await rename(aside, this.#file);
    } catch (cause) {
      throw this.#storageError('keep', cause);
    }
  }

  #storageError(what: 'read' | 'keep', cause: unknown): StorageError {
    const path = this.#file as string;
    const reason = (cause as Error).message;
    return new StorageError(`Cannot ${what} the rules in ${path}: ${reason}`, { path, cause });
  }
}

interface Kept {
  readonly lastId: string;
  readonly rules: readonly StreamRule[];
}

/** When ids of the service began to count. */
const ID_EPOCH = 1_288_834_974_657;
/** Whatever the clock says, no id fits in 53 bits. */
const LEAST_ID = 1n << 59n;
