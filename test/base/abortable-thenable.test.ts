import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { isStrayPromise, isThenable, refusePromise } from '../../src/base/abortable.js';
import { OptionError } from '../../src/base/errors.js';

// biome-ignore lint/suspicious/noThenProperty: what it is about.
const thenable = { then: () => {} };

it.each([
  ['a promise', Promise.resolve(1), true],
  ['an object with `then`', thenable, true],
  ['a value of another type', 7, false],
  ['null', null, false],
  // biome-ignore lint/suspicious/noThenProperty: what it is about.
  ['an object whose `then` is no function', { then: 1 }, false],
])(
  'isThenable and isStrayPromise return true only for an object with a `then` function: %s',
  (_, value, is) => {
    expect(isThenable(value)).toBe(is);
    expect(isStrayPromise(value)).toBe(is);
  },
);

it('refusePromise causes no unhandled rejection if the refused promise rejects', async () => {
  const unhandled: unknown[] = [];
  const listen = (reason: unknown) => unhandled.push(reason);
  process.on('unhandledRejection', listen);
  try {
    expect(() =>
      refusePromise('map', 'fn', Promise.reject(new Error('no answer')), 'must not be one'),
    ).toThrow(OptionError);
    await nextTurn();
    await nextTurn();
  } finally {
    process.off('unhandledRejection', listen);
  }
  expect(unhandled).toEqual([]);
});

it('the error of refusePromise names the call and the option', () => {
  expect(() => refusePromise('map', 'fn', Promise.resolve(), 'must return a value')).toThrow(
    'map: `fn` must return a value',
  );
});

it('refusePromise accepts a value that is not a promise', () => {
  expect(() => refusePromise('map', 'fn', { value: 1 }, 'must return a value')).not.toThrow();
});
