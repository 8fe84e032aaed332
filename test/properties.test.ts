import fc from 'fast-check';
import { expect, it } from 'vitest';
import { endProperties } from './properties.js';

it('endProperties waits for the current run of a property-based test, and then stops it', async () => {
  let begun = 0;
  let finish = () => {};
  const property = fc.asyncProperty(fc.nat(), async () => {
    begun++;
    await new Promise<void>(resolve => {
      finish = resolve;
    });
  });
  const outcome = Promise.resolve(fc.assert(property)).catch(error => error);
  await expect.poll(() => begun).toBe(1);
  let hasEnded = false;
  const ended = endProperties().then(() => {
    hasEnded = true;
  });
  await new Promise(resolve => setImmediate(resolve));
  expect(hasEnded).toBe(false);
  finish();
  await ended;
  expect(await outcome).toMatchObject({ message: 'The test of this property has ended' });
  expect(begun).toBe(1);
  await fc.assert(
    fc.asyncProperty(fc.nat(), async () => {
      begun++;
    }),
    { numRuns: 3 },
  );
  expect(begun).toBe(4);
});

it('endProperties resolves if no property-based test runs', () =>
  expect(endProperties()).resolves.toBe(undefined));
