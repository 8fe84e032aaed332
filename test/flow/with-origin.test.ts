import { describe, expect, it } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { errorWithOrigin, withOrigin } from '../../src/flow/with-origin.js';

function thrownBy(error: unknown, origin: string | undefined): unknown {
  try {
    return withOrigin(origin, () => {
      throw error;
    });
  } catch (thrown) {
    return thrown;
  }
}

describe('the origin of an item', () => {
  it('is added to a DataError that has none, with the error as cause', () => {
    const error = new DataError('Not a post');
    const thrown = thrownBy(error, 'posts.jsonl');
    expect(thrown).toBeInstanceOf(DataError);
    expect(thrown).toMatchObject({ cause: error, position: { origin: 'posts.jsonl' } });
    expect((thrown as Error).message).toContain('Not a post');
  });

  it.each([
    ['has an origin', new DataError('Not a post', { position: { origin: 'other' } }), 'posts'],
    ['is not about data', new TypeError('mine'), 'posts'],
    ['has none to add', new DataError('Not a post'), undefined],
  ])('leaves an error as it is that %s', (_, error, origin) => {
    expect(thrownBy(error, origin)).toBe(error);
    expect(errorWithOrigin(origin, error)).toBe(error);
  });

  it('is not needed by what succeeds', () => {
    expect(withOrigin('posts', () => 7)).toBe(7);
  });
});
