import { expect, it } from 'vitest';
import { DataError, StorageError } from '../src/errors.js';

it('the message of an error changes no terminal and forges no line of a log, whatever text is in it', () => {
  const hostile = 'a\u001b[2J\u009b31m\rb\u2028c\u202ed\u0000';
  const { message } = new DataError(`Not a post: ${hostile}`);
  expect(message).toBe('Not a post: a\\u001b[2J\\u009b31m\\u000db\\u2028c\\u202ed\\u0000');
  expect(new StorageError(hostile, { path: hostile }).message).not.toMatch(/[\p{Cc}\u202e]/u);
  // The lines of a message with several problems stay.
  expect(new DataError('two:\n- a\n\t- b').message).toBe('two:\n- a\n\t- b');
});
