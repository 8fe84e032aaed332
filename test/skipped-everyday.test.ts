import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { isSkipped, SKIPPED_TESTS } from './skipped-everyday.js';

const root = path.resolve(import.meta.dirname, '..');

describe('the list of tests that npm test skips', () => {
  it.each(Object.entries(SKIPPED_TESTS))(
    'has only entries for %s that match an existing title',
    (file, titles) => {
      const text = readFileSync(path.join(root, file), 'utf8').replaceAll("\\'", "'");
      for (const title of titles) expect(text).toContain(title);
    },
  );

  it('contains a test only if its file and a part of its title match', () => {
    expect(
      isSkipped(
        'test/storage/lock.test.ts',
        'is updated regularly by its holder as a sign of life',
      ),
    ).toBe(true);
    expect(isSkipped('test/storage/lock.test.ts', 'is held once')).toBe(false);
    expect(
      isSkipped(
        'test/storage/other.test.ts',
        'is updated regularly by its holder as a sign of life',
      ),
    ).toBe(false);
  });
});
