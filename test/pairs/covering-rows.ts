/** A choice of a value for each key. The key of a stage is `yes` or `no`; those of its options are absent if it is `no`. */
export type Row = Readonly<Record<string, string>>;

/** Stages, their options, and the names of the values that are tried. The first value is the one that changes least. */
export type Domain = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

/** Why some values cannot be together. */
export interface Conflict {
  readonly reason: string;
  /** Whether the values of a row conflict. A row may be a part: keys are added to it, and never change. */
  readonly holds: (row: Row) => boolean;
  /** Values that the library refuses with an error about this option. */
  readonly refused?: { readonly row: Row; readonly option: string };
}

export interface Rules {
  /** Stages that each row has. */
  readonly always: readonly string[];
  readonly conflicts: readonly Conflict[];
  /**
   * Values whose pairs count only in rows that have none of `others`, except if the pair itself needs it: such as a
   * number of threads, and the values with which threads do nothing. Each of `others` is a list of values that a row
   * has together.
   */
  readonly alone: {
    readonly values: readonly string[];
    readonly others: readonly (readonly string[])[];
  };
}

/** Two values, each as `stage.option=value`. */
export type Pair = readonly [string, string];

export interface Covering {
  readonly rows: readonly Row[];
  /** How many pairs there are, and which ones no row has. */
  readonly pairs: number;
  readonly missing: readonly Pair[];
}

const CANDIDATES = 8;
const TRIES = 12;

/** Rows in which each pair of values is at least once, unless a conflict keeps it out. */
export function coveringRows(domain: Domain, rules: Rules, random: () => number): Covering {
  const values = Object.entries(domain).flatMap(([stage, options]) => [
    ...(rules.always.includes(stage) ? [] : [`${stage}=yes`, `${stage}=no`]),
    ...Object.entries(options).flatMap(([option, names]) =>
      names.map(name => `${stage}.${option}=${name}`),
    ),
  ]);
  const numbers = new Map(values.map((value, number) => [value, number]));
  const size = values.length;
  /** 1 for pairs that are to be covered. The smaller number comes first. */
  const open = new Uint8Array(size * size);
  let pairs = 0;
  for (let a = 0; a < size; a++)
    for (let b = a + 1; b < size; b++)
      if (keyOf(values[a]!) !== keyOf(values[b]!) && canMeet(values[a]!, values[b]!)) {
        open[a * size + b] = 1;
        pairs++;
      }
  const alone = new Set(rules.alone.values.map(value => numbers.get(value)));
  const newIn = (row: Row): number[] => {
    const own: number[] = [];
    for (const key of Object.keys(row)) {
      const number = numbers.get(`${key}=${row[key]}`);
      if (number !== undefined) own.push(number);
    }
    own.sort((a, b) => a - b);
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
  const rows: Row[] = [];
  const missing: Pair[] = [];
  for (let next = 0; next < open.length; next++) {
    if (open[next] === 0) continue;
    const pair: Pair = [values[Math.floor(next / size)]!, values[next % size]!];
    open[next] = conflictOf(pair, domain, rules) === undefined ? 1 : 0;
    let best: Row | undefined;
    let covered: number[] = [];
    for (let tried = 0; open[next] === 1 && tried < CANDIDATES; tried++) {
      const row = rowWith(pair, domain, rules, random);
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

/** The conflict of two values, also by what they need: two sinks need `tee`, which refuses some options. */
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

/** A row with both values and others at random, or nothing if none was found. */
function rowWith(pair: Pair, domain: Domain, rules: Rules, random: () => number): Row | undefined {
  for (let tried = 0; tried < TRIES; tried++) {
    const row = { ...withStages(pair) } as Record<string, string>;
    for (const stage of rules.always) row[stage] = 'yes';
    const avoids = pair.some(value => rules.alone.values.includes(value));
    const isPossible = () => !rules.conflicts.some(({ holds }) => holds(row));
    const choose = (key: string, names: readonly string[]): boolean => {
      const isFree = (name: string) =>
        !rules.alone.others.some(
          other => !hasValues(row, other) && hasValues({ ...row, [key]: name }, other),
        );
      const choices = shuffled(names, random);
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
  const entries = pair.map(value => {
    const key = keyOf(value);
    return [key, value.slice(key.length + 1)] as const;
  });
  const stages = entries
    .filter(([key]) => key.includes('.'))
    .map(([key]) => [stageOf(key), 'yes'] as const);
  return Object.fromEntries([...stages, ...entries]);
}

/** Whether no stage must be both there and not. */
function canMeet(a: string, b: string): boolean {
  const isWithout = (value: string, other: string) =>
    value === `${stageOf(keyOf(other))}=no` && other !== value;
  return !isWithout(a, b) && !isWithout(b, a);
}

/** Whether a row has all of some values, each given as `stage.option=value`. */
export function hasValues(row: Row, values: readonly string[]): boolean {
  return values.every(value => {
    const key = keyOf(value);
    return row[key] === value.slice(key.length + 1);
  });
}

function keyOf(value: string): string {
  return value.slice(0, value.indexOf('='));
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
