import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HeldRows, partsOf } from '../../../src/sinks/commit/held-rows.js';

const batch = fc.record({
  size: fc.nat(6),
  hasCursor: fc.boolean(),
  /** Milliseconds since the batch before. */
  after: fc.nat(50),
  takes: fc.boolean(),
});

describe('rows that wait for their commit', () => {
  it('are taken once and in order up to the cursor that comes with them', () => {
    fc.assert(
      fc.property(fc.array(batch), fc.integer({ min: 1, max: 9 }), (batches, rows) => {
        const held = new HeldRows<number>({ rows, waitMs: 40 });
        const taken: number[] = [];
        let [now, next, reached] = [0, 0, 0];
        for (const { size, hasCursor, after, takes } of batches) {
          now += after;
          const items = Array.from({ length: size }, () => next++);
          held.add({ items, ...(hasCursor && { cursor: { next } }) }, now);
          if (hasCursor) reached = next;
          expect(held.size).toBe(next - taken.length);
          // Nothing is due before there is a cursor that was not taken.
          if (held.dueAt === undefined) expect(held.isDue(Number.POSITIVE_INFINITY)).toBe(false);
          else expect(held.isDue(held.dueAt)).toBe(true);
          if (reached - taken.length >= rows) expect(held.isDue(now)).toBe(true);
          if (held.isFullWithoutCursor) expect(held.size).toBeGreaterThanOrEqual(rows);
          if (!takes || held.dueAt === undefined) continue;
          const { rows: some, cursor } = held.take();
          taken.push(...some);
          expect(taken.length).toBe(reached);
          expect(cursor).toEqual({ next: reached });
        }
        taken.push(...held.takeAll().rows);
        expect(taken).toEqual(Array.from({ length: next }, (_, n) => n));
      }),
    );
  });

  it('are due `waitMs` after the first of them came, also behind a cursor that was taken', () => {
    const held = new HeldRows<number>({ rows: 10, waitMs: 40 });
    held.add({ items: [1] }, 5);
    expect(held.dueAt).toBeUndefined();
    held.add({ items: [2], cursor: { next: 2 } }, 20);
    held.add({ items: [3] }, 30);
    expect(held.dueAt).toBe(45);
    held.take();
    expect(held.dueAt).toBeUndefined();
    held.add({ items: [], cursor: { next: 3 } }, 90);
    expect(held.dueAt).toBe(70);
  });

  it('are due `waitMs` after the first that came since all were taken', () => {
    const held = new HeldRows<number>({ rows: 10, waitMs: 40 });
    held.add({ items: [1] }, 5);
    expect(held.takeAll()).toEqual({ rows: [1], cursor: undefined });
    held.add({ items: [2], cursor: { next: 2 } }, 100);
    expect(held.dueAt).toBe(140);
  });

  it('are full without a cursor from `rows` on, until one comes', () => {
    const held = new HeldRows<number>({ rows: 2, waitMs: 40 });
    held.add({ items: [1] }, 0);
    expect(held.isFullWithoutCursor).toBe(false);
    held.add({ items: [2] }, 0);
    expect(held.isFullWithoutCursor).toBe(true);
    held.add({ items: [], cursor: { next: 2 } }, 0);
    expect(held.isFullWithoutCursor).toBe(false);
  });

  it('are passed on in parts of at most a size', () => {
    expect([...partsOf([1, 2, 3, 4, 5], 2)]).toEqual([[1, 2], [3, 4], [5]]);
    expect([...partsOf([], 2)]).toEqual([]);
  });
});
