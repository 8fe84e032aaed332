import { availableParallelism } from 'node:os';
import { expect, it } from 'vitest';
import { chooseThreads } from '../../src/files/choose-threads.js';

const MIB = 2 ** 20;

it('threads are one a core, for inputs of 32 MiB, where no reader says', () => {
  const size = Math.min(availableParallelism(), 16);
  expect(chooseThreads([{}, {}])).toEqual({ size, minBytes: 32 * MIB });
});

it('threads are as many as a reader says, the lowest of several, for any input', () => {
  expect(chooseThreads([{ workers: 3 }, {}, { workers: 1 }])).toEqual({ size: 1, minBytes: 0 });
  expect(chooseThreads([{ workers: 3 }, { workers: 0 }])).toEqual({ size: 0, minBytes: 0 });
});

it('threads are none where all readers want posts on the main thread', () => {
  expect(chooseThreads([{ workers: 2, isHere: true }, { isHere: true }]).size).toBe(0);
  expect(chooseThreads([{ workers: 2, isHere: true }, {}]).size).toBe(2);
});
