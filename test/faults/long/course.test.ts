import { describe, expect, it } from 'vitest';
import { Course } from './course.js';
import type { ProcessMemory } from './process-memory.js';

const MIB = 2 ** 20;
const LIMITS = { growBytes: 64 * MIB, peakBytes: 64 * MIB };

const FIXED = { measure: () => ({ cpuMs: 1, diskMs: 1 }) };

const block = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/**
 * Simulates the memory of a process. The real memory of this process would also change when other
 * tests release memory.
 */
function memoryOf(mebibytes: number) {
  let all = mebibytes * MIB;
  return {
    take: (more: number) => {
      all += more * MIB;
    },
    memory: (): ProcessMemory => ({ all, young: 10 * MIB }),
  };
}

describe('the check of memory and time over a long run', () => {
  it('fails if memory is allocated before the first step and kept', () => {
    const { take, memory } = memoryOf(100);
    const course = new Course(FIXED, memory);
    take(256);
    for (let step = 0; step < 20; step++) course.step({});
    expect(() => course.assertFlat(LIMITS)).toThrow(
      'memory was 100 MiB before the run and up to 356 MiB in it: more than 64 MiB above',
    );
    expect(course.assertFlat({ ...LIMITS, peakBytes: 512 * MIB })).toEqual({
      'MiB before': 100,
      'peak MiB': 356,
      'grown MiB': 0,
    });
  });

  it('fails if memory grows with the steps', () => {
    const { take, memory } = memoryOf(100);
    const course = new Course(FIXED, memory);
    for (let step = 0; step < 20; step++) {
      take(16);
      course.step({});
    }
    expect(() => course.assertFlat({ ...LIMITS, peakBytes: 1024 * MIB })).toThrow(
      'memory, MiB grew from 228 in the second quarter to 388 in the last quarter',
    );
  });

  it('fails if the time of a step grows, measured or passed by the caller', () => {
    const course = new Course(FIXED, memoryOf(100).memory);
    for (let step = 0; step < 20; step++) course.step();
    expect(course.curves['a step by the clock, ms']).toHaveLength(20);
    const timed = new Course(FIXED, memoryOf(100).memory);
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
    const fixedWork = { measure: () => ({ cpuMs: 1, diskMs: steps < 6 ? 1 : lastMs }) };
    const course = new Course(fixedWork, memoryOf(100).memory);
    for (; steps < 9; steps++) {
      block(steps < 6 ? 0 : 1_000);
      course.step();
    }
    const flat = () => course.assertFlat(LIMITS);
    if (lastMs === 1)
      expect(flat).toThrow(/a step by the clock, ms grew from .* in the first third/);
    else expect(flat).not.toThrow();
  });

  it('fails if memory grows late in a run that takes long to settle', () => {
    const { take, memory } = memoryOf(100);
    const course = new Course(FIXED, memory);
    for (let step = 0; step < 40; step++) {
      if (step >= 25) take(4);
      course.step({});
    }
    expect(() => course.assertFlat(LIMITS)).not.toThrow();
    expect(() => course.assertFlat({ ...LIMITS, settles: true })).toThrow(
      'memory without young objects, MiB grew from 94 in the third quarter to 134 in the last',
    );
  });

  it('includes the memory peak before the first step', async () => {
    const { take, memory } = memoryOf(100);
    const course = new Course(FIXED, memory);
    const end = course.watch('it lists');
    take(256);
    // Waits until the timer has recorded the current value.
    await expect.poll(() => course.curves['memory while it lists, MiB']).toContain(356);
    take(-256);
    end();
    for (let step = 0; step < 20; step++) course.step({});
    expect(course.curves['memory while it lists, MiB']?.length).toBeGreaterThan(2);
    expect(() => course.assertFlat({ ...LIMITS, growBytes: 1024 * MIB })).toThrow(
      'memory was 100 MiB before the run and up to 356 MiB in it',
    );
  });
});
