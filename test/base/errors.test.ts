import { describe, expect, it } from 'vitest';
import { DataError, errorWithOrigin, StorageError, withOrigin } from '../../src/base/errors.js';

describe('the message of an error', () => {
  const hostile = 'a\u001b[2J\u009b31m\rb\u2028c\u202ed\u0000';

  it('escapes control characters and line separators of hostile text', () => {
    const { message } = new DataError(`Not a post: ${hostile}`);
    expect(message).toBe('Not a post: a\\u001b[2J\\u009b31m\\u000db\\u2028c\\u202ed\\u0000');
  });

  it('escapes the control characters of a path', () => {
    const { message } = new StorageError(hostile, { path: hostile });
    expect(message).not.toMatch(/[\p{Cc}\u202e]/u);
  });

  it('keeps line breaks and tabs between several problems', () => {
    expect(new DataError('two:\n- a\n\t- b').message).toBe('two:\n- a\n\t- b');
  });
});

function thrownBy(error: unknown, origin: string | undefined): unknown {
  try {
    return withOrigin(origin, () => {
      throw error;
    });
  } catch (thrown) {
    return thrown;
  }
}

describe('withOrigin', () => {
  it('adds the origin to a DataError without one, and keeps the error as its cause', () => {
    const error = new DataError('Not a post');
    const thrown = thrownBy(error, 'posts.jsonl');
    expect(thrown).toBeInstanceOf(DataError);
    expect(thrown).toMatchObject({ cause: error, position: { origin: 'posts.jsonl' } });
    expect((thrown as Error).message).toContain('Not a post');
  });

  it.each([
    [
      'the error already has an origin',
      new DataError('Not a post', { position: { origin: 'other' } }),
      'posts',
    ],
    ['the error is not a DataError', new TypeError('mine'), 'posts'],
    ['no origin is given', new DataError('Not a post'), undefined],
  ])('rethrows the same error if %s', (_, error, origin) => {
    expect(thrownBy(error, origin)).toBe(error);
    expect(errorWithOrigin(origin, error)).toBe(error);
  });

  it('returns the result if nothing is thrown', () => {
    expect(withOrigin('posts', () => 7)).toBe(7);
  });
});
