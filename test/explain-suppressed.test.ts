import { expect, it } from 'vitest';
import { explainSuppressed } from './explain-suppressed.js';

async function failTwice(): Promise<void> {
  await using used = {
    async [Symbol.asyncDispose]() {
      throw new Error('disposed');
    },
  };
  throw new Error(`failed $& ${typeof used}`);
}

it('explainSuppressed adds the error of a disposal to the error of the test', async () => {
  const error = await failTwice().catch(thrown => thrown);
  explainSuppressed(error);
  expect(error.message).toBe('failed $& object; then its disposal: disposed');
  expect(error.stack).toContain(`SuppressedError: ${error.message}\n`);
});

it('explainSuppressed leaves an error that suppressed no other error unchanged', () => {
  const error = new Error('one');
  const { stack } = error;
  explainSuppressed(error);
  expect([error.message, error.stack]).toEqual(['one', stack]);
});
