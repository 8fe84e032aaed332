/**
 * One combination of option values to test. Keys are `stage` or `stage.option`. The value of a
 * `stage` key is `yes` or `no`. If it is `no`, the row has no options of that stage.
 */
export type Row = Readonly<Record<string, string>>;

/**
 * For each stage and each of its options, the names of the values to try. The first value of an
 * option is the simplest one.
 */
export type Domain = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

export interface Conflict {
  readonly reason: string;
  /**
   * Returns whether the row contains the conflict. The row may be incomplete. If this returns true,
   * it must still return true when keys are added to the row.
   */
  readonly holds: (row: Row) => boolean;
  /** An example row that the library refuses with an error about `option`. */
  readonly refused?: { readonly row: Row; readonly option: string };
}

export interface Rules {
  readonly always: readonly string[];
  readonly conflicts: readonly Conflict[];
  /**
   * Each combination in `others` hides the effect of `values`. For example, the number of threads
   * has no effect if another option keeps the work on the main thread. A row with such a
   * combination does not cover pairs with one of the `values`, unless the pair itself contains the
   * combination.
   */
  readonly alone: {
    readonly values: readonly string[];
    readonly others: readonly (readonly string[])[];
  };
}

/** Two values, each written as `stage.option=value`. */
export type Pair = readonly [string, string];

export interface Covering {
  readonly rows: readonly Row[];
  readonly pairs: number;
  readonly missing: readonly Pair[];
}

const CANDIDATES = 8;
const TRIES = 12;

/**
 * Returns combinations of options (rows) that together contain every pair of values at least once,
 * except for pairs that conflict.
 */
export function coveringRows(domain: Domain, rules: Rules, random: () => number): Covering {
  const values = Object.entries(domain).flatMap(([stage, options]) => [
    ...(rules.always.includes(stage) ? [] : [`${stage}=yes`, `${stage}=no`]),
    ...Object.entries(options).flatMap(([option, names]) =>
      names.map(name => `${stage}.${option}=${name}`),
    ),
  ]);
  // Maps a key and then a name to the index of the value. A single map would need a concatenated
  // string for every lookup, which is slow.
  const numbers = new Map<string, Map<string, number>>();
  for (const [number, value] of values.entries()) {
    const key = keyOf(value);
    const ofKey = numbers.get(key) ?? new Map<string, number>();
    numbers.set(key, ofKey.set(nameOf(value), number));
  }
  const numberOf = (key: string, name: string) => numbers.get(key)?.get(name);
  const size = values.length;
  /**
   * A matrix that contains 1 for each pair of values that is not covered yet. The first index of a
   * pair is smaller than the second.
   */
  const open = new Uint8Array(size * size);
  let pairs = 0;
  for (let a = 0; a < size; a++)
    for (let b = a + 1; b < size; b++)
      if (keyOf(values[a]!) !== keyOf(values[b]!) && canMeet(values[a]!, values[b]!)) {
        open[a * size + b] = 1;
        pairs++;
      }
  const alone = new Set(rules.alone.values.map(value => numberOf(keyOf(value), nameOf(value))));
  const numbersOf = (row: Row): number[] => {
    const own: number[] = [];
    for (const key in row) {
      const number = numberOf(key, row[key]!);
      if (number !== undefined) own.push(number);
    }
    return own;
  };
  const newIn = (row: Row): number[] => {
    const own = numbersOf(row).sort((a, b) => a - b);
    const others = rules.alone.others.filter(other => hasValues(row, other));
    const found: number[] = [];
    for (let i = 0; i < own.length; i++)
      for (let j = i + 1; j < own.length; j++) {
        const [a, b] = [own[i]!, own[j]!];
        if (open[a * size + b] === 0) continue;
        if (others.length > 0 && (alone.has(a) || alone.has(b))) {
          const needed = withStages([values[a]!, values[b]!]);
          if (!others.every(other => hasValues(needed, other))) continue;
        }
        found.push(a * size + b);
      }
    return found;
  };
  /**
   * For each value of `key`, returns how many uncovered pairs the row would cover with that value.
   */
  const gainsOf = (row: Row, key: string, names: readonly string[]): number[] => {
    const others = numbersOf(row);
    return names.map(name => {
      const own = numberOf(key, name);
      if (own === undefined) return 0;
      let gain = 0;
      for (const other of others) gain += open[Math.min(own, other) * size + Math.max(own, other)]!;
      return gain;
    });
  };
  const rows: Row[] = [];
  const missing: Pair[] = [];
  for (let next = 0; next < open.length; next++) {
    if (open[next] === 0) continue;
    const pair: Pair = [values[Math.floor(next / size)]!, values[next % size]!];
    open[next] = conflictOf(pair, domain, rules) === undefined ? 1 : 0;
    let best: Row | undefined;
    let covered: number[] = [];
    for (let tried = 0; open[next] === 1 && tried < CANDIDATES; tried++) {
      const row = rowWith(pair, domain, rules, random, gainsOf);
      const found = row === undefined ? [] : newIn(row);
      if (!found.includes(next) || found.length <= covered.length) continue;
      best = row;
      covered = found;
    }
    open[next] = 0;
    if (best === undefined) missing.push(pair);
    else {
      rows.push(best);
      for (const one of covered) open[one] = 0;
    }
  }
  return { rows, pairs, missing };
}

/**
 * Returns a conflict that every row with these two values contains. Stages that a value requires
 * count too. For example, two sinks require `tee`, which refuses some options.
 */
export function conflictOf(
  pair: Pair,
  domain: Domain,
  { conflicts, always }: Rules,
): Conflict | undefined {
  const row: Record<string, string> = { ...withStages(pair) };
  const conflict = () => conflicts.find(({ holds }) => holds(row));
  for (const stage of always) row[stage] = 'yes';
  for (let changed = true; changed; ) {
    changed = false;
    if (conflict() !== undefined) return conflict();
    for (const stage of Object.keys(domain)) {
      if (row[stage] !== undefined) continue;
      const left = ['yes', 'no'].filter(value => {
        row[stage] = value;
        return conflict() === undefined;
      });
      if (left.length === 0) return conflict();
      delete row[stage];
      if (left.length > 1) continue;
      row[stage] = left[0]!;
      changed = true;
    }
  }
  return undefined;
}

/**
 * Returns a row that contains both values, or undefined if no attempt has succeeded. Chooses the
 * keys in random order, and gives each key the value that covers the largest number of new pairs.
 */
function rowWith(
  pair: Pair,
  domain: Domain,
  rules: Rules,
  random: () => number,
  gainsOf: (row: Row, key: string, names: readonly string[]) => readonly number[],
): Row | undefined {
  for (let tried = 0; tried < TRIES; tried++) {
    const row = { ...withStages(pair) } as Record<string, string>;
    for (const stage of rules.always) row[stage] = 'yes';
    const avoids = pair.some(value => rules.alone.values.includes(value));
    const isPossible = () => !rules.conflicts.some(({ holds }) => holds(row));
    const choose = (key: string, names: readonly string[]): boolean => {
      const isFree = (name: string) => {
        const own = `${key}=${name}`;
        const completes = (other: readonly string[]) =>
          other.includes(own) && other.every(value => value === own || hasValues(row, [value]));
        return !rules.alone.others.some(completes);
      };
      const found = gainsOf(row, key, names);
      const gains = new Map(names.map((name, index) => [name, found[index]!]));
      const choices = shuffled(names, random).toSorted((a, b) => gains.get(b)! - gains.get(a)!);
      if (avoids) choices.sort((a, b) => Number(isFree(b)) - Number(isFree(a)));
      for (const name of choices) {
        row[key] = name;
        if (isPossible()) return true;
      }
      return false;
    };
    if (!isPossible()) return undefined;
    const stages = shuffled(Object.keys(domain), random);
    let isComplete = stages.every(
      stage => row[stage] !== undefined || choose(stage, ['yes', 'no']),
    );
    const options = stages
      .filter(stage => row[stage] === 'yes')
      .flatMap(stage =>
        Object.entries(domain[stage]!).map(([o, names]) => [`${stage}.${o}`, names] as const),
      );
    for (const [key, names] of shuffled(options, random))
      if (row[key] === undefined) isComplete &&= choose(key, names);
    if (isComplete) return row;
  }
  return undefined;
}

function withStages(pair: Pair): Row {
  const entries = pair.map(value => [keyOf(value), nameOf(value)] as const);
  const stages = entries
    .filter(([key]) => key.includes('.'))
    .map(([key]) => [stageOf(key), 'yes'] as const);
  return Object.fromEntries([...stages, ...entries]);
}

/**
 * Returns whether two values can occur together. They cannot if one requires a stage that the other
 * excludes.
 */
function canMeet(a: string, b: string): boolean {
  const isWithout = (value: string, other: string) =>
    value === `${stageOf(keyOf(other))}=no` && other !== value;
  return !isWithout(a, b) && !isWithout(b, a);
}

export function hasValues(row: Row, values: readonly string[]): boolean {
  return values.every(value => row[keyOf(value)] === nameOf(value));
}

function keyOf(value: string): string {
  return value.slice(0, value.indexOf('='));
}

function nameOf(value: string): string {
  return value.slice(value.indexOf('=') + 1);
}

function stageOf(key: string): string {
  return key.split('.')[0]!;
}

function shuffled<T>(list: readonly T[], random: () => number): T[] {
  const result = [...list];
  for (let at = result.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [result[at], result[other]] = [result[other]!, result[at]!];
  }
  return result;
}
