import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { isSkipped, SKIPPED_TESTS } from './skipped-everyday.js';

const root = path.resolve(import.meta.dirname, '..');

describe('the list of skipped tests', () => {
  it.each(Object.entries(SKIPPED_TESTS))('for %s contains only existing titles', (file, titles) => {
    const text = readFileSync(path.join(root, file), 'utf8').replaceAll("\\'", "'");
    for (const title of titles) expect(text).toContain(title);
  });

  it('is searched by file and a part of the title', () => {
    expect(isSkipped('test/storage/lock.test.ts', 'tells others that its holder is alive')).toBe(
      true,
    );
    expect(isSkipped('test/storage/lock.test.ts', 'is held once')).toBe(false);
    expect(isSkipped('test/storage/other.test.ts', 'tells others that its holder is alive')).toBe(
      false,
    );
  });
});
