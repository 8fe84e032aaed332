import { describe, expect, it } from 'vitest';
import { DataError, StorageError } from '../../src/base/errors.js';

describe('the message of an error', () => {
  const hostile = 'a\u001b[2J\u009b31m\rb\u2028c\u202ed\u0000';

  it('changes no terminal and forges no line of a log, whatever text is in it', () => {
    const { message } = new DataError(`Not a post: ${hostile}`);
    expect(message).toBe('Not a post: a\\u001b[2J\\u009b31m\\u000db\\u2028c\\u202ed\\u0000');
  });

  it('has no control character of a path', () => {
    const { message } = new StorageError(hostile, { path: hostile });
    expect(message).not.toMatch(/[\p{Cc}\u202e]/u);
  });

  it('keeps its lines where it has several problems', () => {
    expect(new DataError('two:\n- a\n\t- b').message).toBe('two:\n- a\n\t- b');
  });
});
