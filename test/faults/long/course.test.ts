import { describe, expect, it } from 'vitest';
import { Course } from './course.js';

const MIB = 2 ** 20;
const LIMITS = { growBytes: 64 * MIB, peakBytes: 64 * MIB };

/** Pages that are written to, so that the process has them. */
const taken = () => Buffer.alloc(256 * MIB, 1);

describe('the course of a run', () => {
  it('notices memory that is taken before the first step and kept', () => {
    const course = new Course();
    const kept = taken();
    for (let step = 0; step < 20; step++) course.step();
    expect(() => course.assertFlat(LIMITS)).toThrow(
      /memory was [\d.]+ MiB before the run and up to/,
    );
    expect(course.assertFlat({ ...LIMITS, peakBytes: 2 * kept.length })).toMatchObject({
      'MiB before': expect.any(Number),
      'peak MiB': expect.any(Number),
    });
  });

  it('notices memory that comes with the steps', () => {
    const course = new Course();
    const kept: Buffer[] = [];
    for (let step = 0; step < 20; step++) {
      kept.push(Buffer.alloc(16 * MIB, 1));
      course.step();
    }
    expect(() => course.assertFlat({ ...LIMITS, peakBytes: 1024 * MIB })).toThrow(
      'memory, MiB grew from',
    );
  });

  it('draws the time of each step by the clock, or the times that it is given, which have to stay flat', () => {
    const course = new Course();
    for (let step = 0; step < 20; step++) course.step();
    expect(course.curves['a step by the clock, ms']).toHaveLength(20);
    const timed = new Course();
    for (let step = 0; step < 20; step++) timed.step({ 'a window, ms': step < 10 ? 1 : 1_000 });
    expect(Object.keys(timed.curves)).not.toContain('a step by the clock, ms');
    expect(() => timed.assertFlat(LIMITS)).toThrow('a window, ms grew from 1 to 1000');
  });
});
