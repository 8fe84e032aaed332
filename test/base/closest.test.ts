import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { closest, didYouMean } from '../../src/base/closest.js';

const NAMES = ['query', 'fromDate', 'toDate', 'maxBytes'];
const word = fc.stringMatching(/^[a-z]{3,20}$/);

describe('the closest name', () => {
  it.each([
    ['querry', 'query'],
    ['qeury', 'query'],
    ['FROMDATE', 'fromDate'],
    ['maxByte', 'maxBytes'],
  ])('to %j is %j', (written, meant) => {
    expect(closest(written, NAMES)).toBe(meant);
  });

  it.each(['', 'to', 'frogs', 'window', 'q'.repeat(41)])('to %j is none', written => {
    expect(closest(written, NAMES)).toBeUndefined();
  });

  it('is the name itself where it is among others that are near', () => {
    fc.assert(
      fc.property(word, fc.array(word), (name, others) => {
        expect(closest(name, [...others, name, `${name}s`])).toBe(name);
      }),
    );
  });

  it('is still found if a letter is missing, doubled or exchanged with the next one', () => {
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

describe('the question after a misspelt name', () => {
  it('names what is meant as the caller shows it', () => {
    expect(didYouMean('querry', NAMES, meant => `\`${meant}\``)).toBe('did you mean `query`?');
  });

  it('is none where nothing is near', () => {
    expect(didYouMean('frogs', NAMES, String)).toBeUndefined();
  });
});
