import fc from 'fast-check';

const SURROGATES = 0xd800;
const SURROGATE_COUNT = 0x800;

/**
 * Generates any character, as a unit for `fc.string`. The unit `binary` generates the same
 * characters. However, each process would need 2 s and 100 MB for its table of all characters.
 */
export const codePoint = fc.nat(0x10ffff - SURROGATE_COUNT).map(
  index => String.fromCodePoint(index < SURROGATES ? index : index + SURROGATE_COUNT),
  // With this inverse function, `fc.string` can also generate its list of risky strings, such as
  // `__proto__`.
  character => {
    const code = [...String(character)].length === 1 ? String(character).codePointAt(0)! : -1;
    if (code < 0 || (code >= SURROGATES && code < SURROGATES + SURROGATE_COUNT))
      throw new TypeError('Not a character');
    return code < SURROGATES ? code : code - SURROGATE_COUNT;
  },
);
