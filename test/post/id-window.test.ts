import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IdWindow } from '../../src/post/id-window.js';
import { collectGarbage } from '../collect-garbage.js';
import { bySuite } from '../suite.js';

class Model {
  ids: string[] = [];
  readonly size: number;
  constructor(size: number) {
    this.size = size;
  }
  add(id: string): boolean {
    if (this.ids.includes(id)) return false;
    this.ids = [...this.ids, id].slice(-this.size);
    return true;
  }
}

const id = fc.oneof(
  { weight: 5, arbitrary: fc.bigInt({ min: 1n, max: 40n }).map(String) },
  {
    weight: 5,
    arbitrary: fc.bigInt({ min: 0n, max: 30n }).map(n => String(1050118621198921728n + (n << 22n))),
  },
  fc.bigInt({ min: 2n ** 32n - 2n, max: 2n ** 32n + 2n }).map(String),
  fc.bigInt({ min: 2n ** 64n - 3n, max: 2n ** 64n + 3n }).map(String),
  fc.constantFrom(
    '',
    '0',
    '00',
    '01',
    '-1',
    '1.0',
    ' 1',
    '1 ',
    'a b',
    '"',
    '+1',
    '\ud800',
    '99999999999999999999',
    '100000000000000000000',
    '１',
  ),
  fc.string({ maxLength: 2 }),
);

function restored(window: IdWindow, size: number): IdWindow {
  const next = new IdWindow(size);
  next.restore(JSON.parse(JSON.stringify(window.state())));
  return next;
}

describe('IdWindow', () => {
  it('behaves like a list of the last ids, even after it is saved and restored', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.array(fc.oneof({ weight: 20, arbitrary: id }, fc.constant(undefined)), {
          maxLength: 300,
        }),
        (size, steps) => {
          const model = new Model(size);
          let window = new IdWindow(size);
          for (const step of steps)
            if (step === undefined) window = restored(window, size);
            else expect(window.add(step), step).toBe(model.add(step));
        },
      ),
      { numRuns: bySuite(25, 1_200) },
    );
  });

  it('behaves like a list of the last ids while its ring buffer grows and wraps', () => {
    const size = 5_000;
    const seen = new Map<string, number>();
    let window = new IdWindow(size);
    let kept = 0;
    let random = 1;
    for (let step = 0; step < 60_000; step++) {
      random = (Math.imul(random, 1103515245) + 12345) >>> 0;
      const number = 1050118621198921728n + (BigInt(random >>> 18) << 22n);
      const text = step % 50 === 0 ? `x${number}` : String(number);
      const last = seen.get(text);
      const isNew = last === undefined || last < kept - size;
      if (window.add(text) !== isNew) throw new Error(`Wrong at step ${step}: ${text}`);
      if (isNew) seen.set(text, kept++);
      if (step % 20_000 === 19_999) window = restored(window, size);
    }
    expect(kept).toBeGreaterThan(20_000);
  });

  it('returns a state that later ids do not change', () => {
    fc.assert(
      fc.property(
        fc.array(id, { maxLength: 60 }),
        fc.nat(60),
        fc.integer({ min: 1, max: 20 }),
        (ids, at, size) => {
          const window = new IdWindow(size);
          for (const one of ids.slice(0, at)) window.add(one);
          const state = window.state();
          const then = JSON.stringify(state);
          for (const one of ids.slice(at)) window.add(one);
          for (let more = 0; more < 3000; more++) window.add(`later ${more}`);
          expect(JSON.stringify(state)).toBe(then);
        },
      ),
      { numRuns: bySuite(3, 120) },
    );
  });

  const FIRST = 1050118621198921728n;

  it('saves few ids of about the same time as readable differences', () => {
    const window = new IdWindow(10_000);
    for (let n = 0n; n < 3n; n++) window.add(String(FIRST + n * 123_456_789n));
    expect(window.state().toJSON()).toEqual(['1050118621198921728 +21i3v9 +21i3v9']);
  });

  it('saves many ids of about the same time in at most 6 characters each', () => {
    const window = new IdWindow(100 * 1024);
    for (let n = 0n; n < 100n * 1024n; n++) window.add(String(FIRST + n * 123_456_789n));
    expect(JSON.stringify(window.state()).length).toBeLessThan(100 * 1024 * 6);
  });

  it('restores a full chunk of ids exactly, for any differences between the ids', () => {
    const anyDifference = fc.oneof(
      fc.bigInt({ min: -300n, max: 300n }),
      fc.bigInt({ min: -(2n ** 45n), max: 2n ** 45n }),
      fc.bigInt({ min: 2n ** 52n - 2n, max: 2n ** 52n + 2n }),
      fc.bigInt({ min: -(2n ** 52n) - 2n, max: 2n - 2n ** 52n }),
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n }),
    );
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }),
        fc.array(fc.tuple(fc.nat(1022), anyDifference), { maxLength: 8 }),
        (first, jumps) => {
          const differences = new Map(jumps);
          const window = new IdWindow(2048);
          const ids: string[] = [];
          for (let id = first, index = 0; ids.length < 1024; index++) {
            if (window.add(String(id))) ids.push(String(id));
            id = (id + (differences.get(index) ?? 2n ** 30n)) & (2n ** 64n - 1n);
          }
          const again = restored(window, 2048);
          expect(again.state().toJSON()).toEqual(window.state().toJSON());
          expect(ids.filter(one => again.add(one))).toEqual([]);
        },
      ),
      { numRuns: bySuite(20, 500) },
    );
  });

  it('restores ids that an earlier version saved without packing full chunks', () => {
    const window = new IdWindow(2048);
    for (let n = 0n; n < 1024n; n++) window.add(String(FIRST + n * 123_456_789n));
    const printed = new IdWindow(2048);
    printed.restore([`1050118621198921728${' +21i3v9'.repeat(1023)}`]);
    expect(printed.state().toJSON()).toEqual(window.state().toJSON());
  });

  it('keeps only the last ids if it restores more ids than its limit', () => {
    const window = new IdWindow(3000);
    for (let n = 1; n <= 3000; n++) window.add(String(n));
    const smaller = restored(window, 2);
    expect(['2999', '3000', '2998'].map(one => smaller.add(one))).toEqual([false, false, true]);
  });

  it.each([2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 1n - 2n ** 53n, -(2n ** 53n)])(
    'restores two ids exactly that differ by %s, near the largest safe integer',
    difference => {
      for (const first of [2n ** 54n, 2n ** 54n + 1n, 2n ** 54n + 2n, 2n ** 54n + 2n ** 32n - 1n]) {
        const ids = [String(first), String(first + difference)];
        const window = new IdWindow(10);
        for (const one of ids) window.add(one);
        const again = restored(window, 10);
        expect(ids.map(one => again.add(one))).toEqual([false, false]);
      }
    },
  );

  const around = ['0', '1', '18446744073709551615', '18446744073709551616', '18446744073709551617'];

  it('distinguishes the ids around 2^64 from 0, 1 and each other', () => {
    const window = new IdWindow(10);
    expect(around.map(one => window.add(one))).toEqual([true, true, true, true, true]);
    expect(around.map(one => window.add(one))).toEqual([false, false, false, false, false]);
  });

  it('still contains the ids around 2^64 after a restore', () => {
    const window = new IdWindow(10);
    for (const one of around) window.add(one);
    const again = restored(window, 10);
    expect(around.map(one => again.add(one))).toEqual([false, false, false, false, false]);
  });

  const textOf = (...bytes: number[]) => `=${Buffer.from(bytes).toString('base64')}`;
  const FIVE = [0, 0, 0, 0, 0, 0, 0, 5];
  const PACKED = textOf(...FIVE, 2);
  const TOO_LOW = textOf(...FIVE, 11);
  const TOO_HIGH = textOf(...Array<number>(8).fill(255), 2);
  const TOO_FAR = textOf(...FIVE, ...Array<number>(9).fill(255), 1);
  const CUT = textOf(...FIVE, 130);

  it.each([
    ...['x', '+', '-5', '18446744073709551616', '1 -2', '"', '1.5', '', '1 +1.5', '1 +2_'],
    ...['=', '=AAAA', CUT, PACKED.slice(0, -1), `${PACKED}!`, TOO_LOW, TOO_HIGH, TOO_FAR],
  ])('throws when it restores the invalid state %j', text => {
    expect(() => new IdWindow(10).restore([text])).toThrow();
  });
});

it('an IdWindow without a limit takes little memory for few ids', () => {
  const before = process.memoryUsage().arrayBuffers;
  const windows = Array.from({ length: 500 }, () => new IdWindow(Number.POSITIVE_INFINITY));
  for (const window of windows) window.add('1050118621198921728');
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100e6);
});

it('an IdWindow frees old ids even while a caller still holds its first saved state', async () => {
  const window = new IdWindow(10_000);
  window.add('1050118621198921728');
  const state = window.state();
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  for (let id = 1; id < 2_000_000; id++) window.addNumber(id, id);
  // Memory of buffers is freed a moment after the collection.
  await expect
    .poll(() => {
      collectGarbage();
      return process.memoryUsage().arrayBuffers - before;
    })
    .toBeLessThan(2e6);
  expect(state.toJSON()).toEqual(['1050118621198921728']);
});
