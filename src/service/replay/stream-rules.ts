import { join } from 'node:path';
import { ID_EPOCH } from '../archive/look-up-post.js';
import type { Clock } from '../clock.js';
import { HttpProblem } from '../http/http-problem.js';
import type { KnownRule, RequestedRule, RuleOutcome } from '../http/rule-bodies.js';
import { StoredMap } from '../stored-map.js';

export type RequestedRules =
  | { readonly rules: readonly RequestedRule[] }
  | { readonly ids: readonly string[] };

type MissingRule = RequestedRule | Pick<KnownRule, 'id'>;

/** The rules of the replay stream. Values are unique, and rules are in the order of their creation. */
export class StreamRules extends StoredMap<KnownRule, StoredRules> {
  /**
   * One object for each open replay that uses the rules. While there is any, rules cannot be added or
   * deleted.
   */
  readonly connected = new Set<object>();
  readonly #clock: Clock;
  #lastId = MIN_ID;

  /** @param stateFolder If undefined, rules are lost when the service ends. */
  constructor(stateFolder: string | undefined, clock: Clock) {
    const file = stateFolder && join(stateFolder, 'stream-rules', 'rules.json');
    super(file, 'the rules of the stream');
    this.#clock = clock;
  }

  /** Refuses a change of rules while a replay uses them. @throws HttpProblem 406 */
  checkIdle(): void {
    const { size } = this.connected;
    if (size === 0) return;
    const active = size === 1 ? 'is 1 active connection' : `are ${size} active connections`;
    throw new HttpProblem(
      406,
      `Rules cannot be added or deleted while a replay is connected to this stream. There ${active}.`,
    );
  }

  /** Adds valid rules. A rule whose value already exists is not changed. */
  add(requested: readonly RequestedRule[]): Promise<readonly RuleOutcome[]> {
    return this.change(rules =>
      requested.map((rule): RuleOutcome => {
        const id = rules.get(rule.value)?.id;
        if (id !== undefined)
          return { ...rule, id, done: false, message: 'A rule with this value already exists' };
        const added = { ...rule, id: this.#newId() };
        rules.set(rule.value, added);
        return { ...added, done: true };
      }),
    );
  }

  /** Deletes rules. Compares values case-sensitively. */
  delete(requested: RequestedRules): Promise<{ deleted: number; missing: readonly MissingRule[] }> {
    return this.change(rules => {
      const asked =
        'ids' in requested
          ? requested.ids.map(id => ({ id, value: this.find(id)?.value }))
          : requested.rules;
      const missing = asked.filter(({ value }) => value === undefined || !rules.delete(value));
      return { deleted: asked.length - missing.length, missing };
    });
  }

  protected keyOf({ value }: KnownRule): string {
    return value;
  }

  protected idOf({ id }: KnownRule): string {
    return id;
  }

  protected keep(rules: readonly KnownRule[]): StoredRules {
    return { lastId: String(this.#lastId), rules };
  }

  protected restore({ rules, lastId }: StoredRules): readonly KnownRule[] {
    this.#lastId = BigInt(lastId);
    return rules;
  }

  /**
   * Returns a new id. Like the ids of the real service, it is based on the time. It is always greater than
   * the last id.
   */
  #newId(): string {
    const timely = BigInt(Math.floor(this.#clock.now()) - ID_EPOCH) << 22n;
    this.#lastId = timely > this.#lastId ? timely : this.#lastId + 1n;
    return String(this.#lastId);
  }
}

interface StoredRules {
  readonly lastId: string;
  readonly rules: readonly KnownRule[];
}

/** The minimum id. It has more than 53 bits, so all ids do, even if the clock is set to an early time. */
const MIN_ID = 1n << 59n;
