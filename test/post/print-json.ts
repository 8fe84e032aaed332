import fc from 'fast-check';

/** A value of a test document. A bigint is printed as an integer with all its digits. */
export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly Value[]
  | { readonly [key: string]: Value };

export interface Style {
  readonly shuffled: boolean;
  readonly spaced: boolean;
  readonly escaped: boolean;
  /** Decides the order of members, and where spaces and escapes are inserted. */
  readonly seed: number;
}

export const plainStyle: Style = { shuffled: false, spaced: false, escaped: false, seed: 0 };

export const style: fc.Arbitrary<Style> = fc.record({
  shuffled: fc.boolean(),
  spaced: fc.boolean(),
  escaped: fc.boolean(),
  seed: fc.nat(),
});

export function printJson(value: Value, look: Style = plainStyle): string {
  const random = randomFrom(look.seed);
  const space = () => (look.spaced ? ['', '', ' ', '\n', '\t\r\n '][Math.floor(random() * 5)] : '');
  const string = (text: string) => {
    const json = JSON.stringify(text);
    return look.escaped ? escapeSome(json, random) : json;
  };
  const print = (part: Value): string => {
    if (typeof part === 'bigint') return String(part);
    if (typeof part === 'string') return string(part);
    if (part === null || typeof part !== 'object') return JSON.stringify(part);
    if (isList(part)) return `[${part.map(item => space() + print(item) + space()).join(',')}]`;
    const entries = Object.entries(part);
    if (look.shuffled) shuffle(entries, random);
    const members = entries.map(
      ([key, item]) => `${space()}${string(key)}${space()}:${space()}${print(item)}${space()}`,
    );
    return `{${members.join(',')}}`;
  };
  return space() + print(value) + space();
}

function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

/**
 * Escapes some of the characters. Keeps existing escapes. Escapes either both halves of a surrogate
 * pair or neither.
 */
function escapeSome(json: string, random: () => number): string {
  return json.replace(/\\u[0-9a-f]{4}|\\.|[^"]/gsu, unit => {
    if ((unit.length > 1 && unit.startsWith('\\')) || random() < 0.7) return unit;
    if (unit === '/' && random() < 0.5) return '\\/';
    return unit
      .split('')
      .map(half => `\\u${half.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join('');
  });
}

function shuffle<T>(items: T[], random: () => number): void {
  for (let last = items.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [items[last], items[other]] = [items[other] as T, items[last] as T];
  }
}

function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
