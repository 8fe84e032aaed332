import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { closest, didYouMean } from '../../src/base/closest.js';

const NAMES = ['query', 'fromDate', 'toDate', 'maxBytes'];
const word = fc.stringMatching(/^[a-z]{3,20}$/);

describe('closest', () => {
  it.each([
    ['querry', 'query'],
    ['qeury', 'query'],
    ['FROMDATE', 'fromDate'],
    ['maxByte', 'maxBytes'],
  ])('maps %j to %j', (written, meant) => {
    expect(closest(written, NAMES)).toBe(meant);
  });

  it.each(['', 'to', 'frogs', 'window', 'q'.repeat(41)])('finds no name for %j', written => {
    expect(closest(written, NAMES)).toBeUndefined();
  });

  it('returns the name itself if it is in the list with similar names', () => {
    fc.assert(
      fc.property(word, fc.array(word), (name, others) => {
        expect(closest(name, [...others, name, `${name}s`])).toBe(name);
      }),
    );
  });

  it('finds a name with one letter missing, doubled or swapped with the next letter', () => {
    fc.assert(
      fc.property(word, fc.nat(), (name, place) => {
        const at = place % (name.length - 1);
        const [before, letter, after] = [name.slice(0, at), name[at]!, name.slice(at + 1)];
        for (const slip of [
          before + after,
          before + letter + letter + after,
          before + after[0]! + letter + after.slice(1),
        ])
          if (slip.length > 2) expect(closest(slip, [name]), slip).toBe(name);
      }),
    );
  });
});

describe('didYouMean', () => {
  it('shows the suggested name in the format of the caller', () => {
    expect(didYouMean('querry', NAMES, meant => `\`${meant}\``)).toBe('did you mean `query`?');
  });

  it('returns undefined if no name is similar', () => {
    expect(didYouMean('frogs', NAMES, String)).toBeUndefined();
  });
});
