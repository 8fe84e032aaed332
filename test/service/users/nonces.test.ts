import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Nonces } from '../../../src/service/users/nonces.js';

describe('an OAuth nonce', () => {
  it('is accepted once for each timestamp and token', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('a', 'b'), fc.nat(3), fc.constantFrom('x', 'y', 'z'))),
        uses => {
          const nonces = new Nonces();
          const seen = new Set<string>();
          for (const [whose, timestamp, nonce] of uses) {
            const key = JSON.stringify([whose, timestamp, nonce]);
            expect(nonces.use(whose, timestamp, nonce) !== undefined).toBe(!seen.has(key));
            seen.add(key);
          }
        },
      ),
    );
  });

  it('is rejected rather than accepted twice if there are too many nonces to store', () => {
    const nonces = new Nonces(3);
    for (const timestamp of [10, 11, 12]) expect(nonces.use('a', timestamp, 'x')).toBeDefined();
    expect(nonces.canCheck(10, 12)).toBe(true);
    expect(nonces.use('a', 12, 'y')).toBeDefined();
    expect([9, 10, 11, 12].map(timestamp => nonces.canCheck(timestamp, 12))).toEqual([
      false,
      false,
      true,
      true,
    ]);
    expect(nonces.use('a', 11, 'x')).toBeUndefined();
  });

  it('is rejected if its timestamp is so old that its use may have been forgotten', () => {
    const nonces = new Nonces();
    nonces.forget(100);
    expect([nonces.canCheck(99, 100), nonces.canCheck(100, 100)]).toEqual([false, true]);
    // The clock was set back to an earlier time.
    expect(nonces.canCheck(98, 99)).toBe(true);
  });

  it('is forgotten when it expires, which frees space for other nonces', () => {
    const nonces = new Nonces(2);
    nonces.use('a', 1, 'x');
    nonces.expire(2);
    nonces.use('a', 5, 'x');
    nonces.use('a', 6, 'x');
    expect(nonces.canCheck(5, 6)).toBe(true);
  });
});
