import type { Random } from '../random.js';

const EXTREMES: readonly Buffer[] = [
  ...[0x00, 0x0a, 0x0d, 0x1b, 0x22, 0x25, 0x5c, 0x7f, 0x80, 0xc0, 0xff].map(byte =>
    Buffer.of(byte),
  ),
  ...['\ufeff', '\u2028', '\u0085', '\u009b', '\u202e', '\u0130', '\u{1f468}\u200d\u{1f469}'].map(
    text => Buffer.from(text),
  ),
  // Invalid UTF-8: overlong, truncated, or the encoding of a surrogate.
  ...['c080', 'e2', 'f09f98', 'eda080', 'f4908080'].map(hex => Buffer.from(hex, 'hex')),
  ...[
    '9007199254740993',
    '18446744073709551616',
    '-0',
    '1e999',
    '0x10',
    '1.5',
    '-1',
    'NaN',
    '00',
  ].map(text => Buffer.from(text)),
  ...[
    '__proto__',
    'constructor',
    'toString',
    '{}',
    '[]',
    'null',
    'true',
    '""',
    '\\u0000',
    '\\ud800',
  ].map(text => Buffer.from(text)),
  ...[
    '\r\n',
    '\r\n\r\n',
    '%',
    '%2',
    '%00',
    '%ff',
    '../',
    '..\\',
    '//',
    '\t',
    ' ',
    ',',
    ':',
    '=',
    ';',
  ].map(text => Buffer.from(text)),
];

const JOINTS = new Set(Buffer.from('{}[]():,;"\'\\/ \t\r\n=&%?#.-+*'));

export interface Mutations {
  /** Another valid input, from which parts are inserted. */
  readonly other: Buffer;
  readonly tokens: readonly string[];
  readonly maxBytes: number;
}

/** Makes a few changes to an input, but sometimes none, so that valid input is also tried. */
export function mutate(
  input: Buffer,
  random: Random,
  { other, tokens, maxBytes }: Mutations,
): Buffer {
  let bytes: Buffer = Buffer.from(input);
  const changes = random.pick([0, 1, 1, 1, 2, 3, 6]);
  for (let i = 0; i < changes; i++) bytes = changed(bytes, random, other, tokens);
  return bytes.subarray(0, maxBytes);
}

function changed(bytes: Buffer, random: Random, other: Buffer, tokens: readonly string[]): Buffer {
  const [from, to] = range(bytes, random);
  const [before, within, after] = [
    bytes.subarray(0, from),
    bytes.subarray(from, to),
    bytes.subarray(to),
  ];
  const inserted = (): Buffer =>
    tokens.length > 0 && random.chance(0.5)
      ? Buffer.from(random.pick(tokens))
      : random.pick(EXTREMES);
  switch (random.whole(0, 10)) {
    case 0: {
      if (bytes.length === 0) return inserted();
      const at = random.whole(0, bytes.length - 1);
      bytes[at] = (bytes[at] as number) ^ (1 << random.whole(0, 7));
      return bytes;
    }
    case 1:
      return bytes.subarray(0, from);
    case 2:
      return Buffer.concat([before, after]);
    case 3:
      return Buffer.concat([before, within, within, after]);
    case 4:
      return Buffer.concat([before, inserted(), within, after]);
    case 5:
      return Buffer.concat([before, inserted(), after]);
    case 6: {
      const [start, end] = range(other, random);
      return Buffer.concat([before, other.subarray(start, end), after]);
    }
    case 7:
      return Buffer.concat([before, other.subarray(joint(other, random))]);
    case 8: {
      // Inserts one part many times, such as a bracket, a digit or a separator.
      const one = within.length > 0 && random.chance(0.5) ? within.subarray(0, 64) : inserted();
      const times = random.pick([2, 20, 100, 1_000]);
      return Buffer.concat([before, ...Array.from({ length: times }, () => one), after]);
    }
    case 9: {
      const number = /-?\d+/g;
      const text = bytes.toString('latin1');
      const found = [...text.matchAll(number)];
      if (found.length === 0) return Buffer.concat([before, inserted(), after]);
      const match = random.pick(found);
      const extreme = random.pick([
        '0',
        '-1',
        '1.5',
        '4294967296',
        '9007199254740993',
        '1e400',
        '',
      ]);
      const start = match.index;
      return Buffer.from(
        `${text.slice(0, start)}${extreme}${text.slice(start + match[0].length)}`,
        'latin1',
      );
    }
    default:
      return Buffer.concat([after, within, before]);
  }
}

/** Chooses a range, mostly between separators, so that whole tokens move. */
function range(bytes: Buffer, random: Random): readonly [number, number] {
  const [a, b] = [joint(bytes, random), joint(bytes, random)];
  return a < b ? [a, b] : [b, a];
}

function joint(bytes: Buffer, random: Random): number {
  let at = random.whole(0, bytes.length);
  if (random.chance(0.3)) return at;
  while (at < bytes.length && !JOINTS.has(bytes[at] as number)) at++;
  return at;
}
