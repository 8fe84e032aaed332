import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Window } from '../../src/base/time.js';
import {
  mergeRanges,
  overlap,
  shownRange,
  subtractRanges,
  wholeMinutes,
} from '../../src/base/time.js';

const range = fc
  .tuple(fc.nat(30), fc.integer({ min: 1, max: 10 }))
  .map(([from, length]): Window => ({ from, to: from + length }));

function pointsOf(ranges: readonly Window[]): Set<number> {
  const points = new Set<number>();
  for (const { from, to } of ranges) for (let at = from; at < to; at++) points.add(at);
  return points;
}

function isOrdered(ranges: readonly Window[]): boolean {
  return ranges.every(({ from, to }, at) => from < to && (ranges[at + 1]?.from ?? to) >= to);
}

describe('subtractRanges', () => {
  it('returns the parts of a window that no subtracted range covers, in order', () => {
    fc.assert(
      fc.property(range, fc.array(range), (window, others) => {
        const parts = subtractRanges(window, others);
        expect(isOrdered(parts)).toBe(true);
        const taken = pointsOf(others);
        expect([...pointsOf(parts)]).toEqual(
          [...pointsOf([window])].filter(point => !taken.has(point)),
        );
      }),
    );
  });

  it('returns one range for each gap between the subtracted ranges', () => {
    expect(
      subtractRanges({ from: 0, to: 20 }, [
        { from: 9, to: 12 },
        { from: 3, to: 6 },
        { from: 6, to: 7 },
      ]),
    ).toEqual([
      { from: 0, to: 3 },
      { from: 7, to: 9 },
      { from: 12, to: 20 },
    ]);
  });
});

it('overlap returns the range that two windows share, or undefined if there is none', () => {
  fc.assert(
    fc.property(range, range, (a, b) => {
      const both = overlap(a, b);
      const inA = pointsOf([a]);
      const points = [...pointsOf([b])].filter(point => inA.has(point));
      expect([...pointsOf(both === undefined ? [] : [both])]).toEqual(points);
      expect(both === undefined).toBe(points.length === 0);
    }),
  );
});

it.each([
  [0, 60_000, 0, 60_000],
  [1, 60_000, 0, 60_000],
  [59_999, 60_001, 0, 120_000],
  [60_000, 119_999, 60_000, 120_000],
])('wholeMinutes widens the range %i to %i to whole minutes, %i to %i', (from, to, start, end) => {
  expect(wholeMinutes({ from, to })).toEqual({ from: start, to: end });
});

describe('mergeRanges', () => {
  const marked = fc
    .tuple(range, fc.constantFrom('a', 'b'))
    .map(([{ from, to }, mark]) => ({ from, to, mark }));
  const merged = (ranges: readonly (Window & { readonly mark: string })[]) =>
    mergeRanges(ranges, (a, b) => a.mark === b.mark);

  it('returns ranges that cover the same times with the same mark', () => {
    fc.assert(
      fc.property(fc.array(marked), ranges => {
        for (const mark of ['a', 'b'])
          expect(pointsOf(merged(ranges).filter(one => one.mark === mark))).toEqual(
            pointsOf(ranges.filter(one => one.mark === mark)),
          );
      }),
    );
  });

  it('merges ranges with the same mark that touch or overlap', () => {
    fc.assert(
      fc.property(fc.array(range), ranges => {
        const result = mergeRanges(ranges, () => true);
        expect(result.every(({ to }, at) => (result[at + 1]?.from ?? to + 1) > to)).toBe(true);
      }),
    );
  });
});

it('shownRange prints a range as two timestamps YYYYMMDDHHMM', () => {
  const from = Date.UTC(2022, 9, 3, 12);
  expect(shownRange({ from, to: from + 60_000 })).toBe('202210031200 to 202210031201');
});
