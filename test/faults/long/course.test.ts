import { describe, expect, it } from 'vitest';
import { Course } from './course.js';

const MIB = 2 ** 20;
const LIMITS = { growBytes: 64 * MIB, peakBytes: 64 * MIB };

const FIXED = { measure: () => ({ cpuMs: 1, diskMs: 1 }) };

const block = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** Pages that are written to, so that the process has them. */
const taken = () => Buffer.alloc(256 * MIB, 1);

describe('the course of a run', () => {
  it('notices memory that is taken before the first step and kept', () => {
    const course = new Course(FIXED);
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
    const course = new Course(FIXED);
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
    const course = new Course(FIXED);
    for (let step = 0; step < 20; step++) course.step();
    expect(course.curves['a step by the clock, ms']).toHaveLength(20);
    const timed = new Course(FIXED);
    for (let step = 0; step < 20; step++) timed.step({ 'a window, ms': step < 10 ? 1 : 1_000 });
    expect(Object.keys(timed.curves)).not.toContain('a step by the clock, ms');
    expect(() => timed.assertFlat(LIMITS)).toThrow(
      'a window, ms grew from 1 in the first third to 1000 in the last third',
    );
  });

  it.each([
    ['notices steps that wait longer', 1],
    ['lets steps take longer on a machine that has become slower', 1_000],
  ])('%s', (_, lastMs) => {
    let steps = 0;
    const course = new Course({ measure: () => ({ cpuMs: 1, diskMs: steps < 6 ? 1 : lastMs }) });
    for (; steps < 9; steps++) {
      block(steps < 6 ? 0 : 1_000);
      course.step();
    }
    const flat = () => course.assertFlat(LIMITS);
    if (lastMs === 1)
      expect(flat).toThrow(/a step by the clock, ms grew from .* in the first third/);
    else expect(flat).not.toThrow();
  });

  it('notices memory that is kept late in a run that has to settle', () => {
    // The process of the suite gives back memory of other tests at any time.
    let all = 100 * MIB;
    const course = new Course(FIXED, () => ({ all, young: 10 * MIB }));
    for (let step = 0; step < 40; step++) {
      if (step >= 25) all += 4 * MIB;
      course.step({});
    }
    expect(() => course.assertFlat(LIMITS)).not.toThrow();
    expect(() => course.assertFlat({ ...LIMITS, settles: true })).toThrow(
      'memory without young objects, MiB grew from 94 in the third quarter to 134 in the last',
    );
  });

  it('samples memory before the first step, and judges its peak', async () => {
    const course = new Course(FIXED);
    const end = course.watch('it lists');
    await new Promise(resolve => setTimeout(resolve, 100));
    let kept: Buffer | undefined = taken();
    await new Promise(resolve => setTimeout(resolve, 100));
    end();
    expect(kept.length).toBeGreaterThan(0);
    kept = undefined;
    for (let step = 0; step < 20; step++) course.step();
    expect(course.curves['memory while it lists, MiB']?.length).toBeGreaterThan(2);
    expect(() => course.assertFlat({ ...LIMITS, growBytes: 1024 * MIB })).toThrow(
      /memory was [\d.]+ MiB before the run and up to/,
    );
  });
});
