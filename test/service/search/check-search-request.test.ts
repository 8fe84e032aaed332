import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createNextTokens } from '../../../src/service/search/check-search-request.js';

const instant = fc.integer({ min: 0, max: 4e12 });
const token = fc.record({
  asOf: instant,
  window: fc.record({ from: instant, to: instant }),
  after: fc.record({
    at: instant,
    id: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map(String),
  }),
  request: fc.stringMatching(/^[A-Za-z0-9_-]{16}$/),
});

describe('the `next` token of a search', () => {
  it('is accepted by every service with the same seed', () => {
    fc.assert(
      fc.property(token, given => {
        const text = createNextTokens('seed').encode(given);
        expect(text).toMatch(/^[A-Za-z0-9+/]+={0,2}$/);
        expect(createNextTokens('seed').decode(text)).toEqual(given);
        expect(createNextTokens('another seed').decode(text)).toBeUndefined();
      }),
    );
  });

  it('is rejected if any character is changed', () => {
    const tokens = createNextTokens(1);
    fc.assert(
      fc.property(token, fc.nat(), fc.constantFrom(...'Aa0+/ =-_é'), (given, at, character) => {
        const text = tokens.encode(given);
        const index = at % text.length;
        const changed = text.slice(0, index) + character + text.slice(index + 1);
        fc.pre(changed !== text);
        expect(tokens.decode(changed)).toBeUndefined();
      }),
    );
  });

  it('is rejected if it is a string that the service did not issue', () => {
    const tokens = createNextTokens(1);
    fc.assert(
      fc.property(fc.string(), text => {
        expect(tokens.decode(text)).toBeUndefined();
      }),
    );
    expect(tokens.decode('')).toBeUndefined();
  });

  it('is rejected in the array form of an earlier version, even with a valid signature', () => {
    const text =
      'VYSAXPfQdIrkzeDaBamCB1sxNzA1Mjc2ODAwMDA1LDE3MDQwNjcyMDAwMDAsMTcwNjc0NTYwMDAwMCwx' +
      'NzA1Mjc2ODAwMDAwLCIxNzQ2NzIwMDAwMDAwMDAwMDAwIiwiYWJjZGVmZ2hpamtsbW5vcCJd';
    expect(createNextTokens(7).decode(text)).toBeUndefined();
  });

  it('is short enough for the query of a URL', () => {
    fc.assert(
      fc.property(token, given => {
        expect(createNextTokens('seed').encode(given).length).toBeLessThan(256);
      }),
    );
  });
});
