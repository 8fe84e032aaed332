import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const SOURCE = path.resolve(import.meta.dirname, '../src');

describe('the architecture page', () => {
  it('names only files and folders that exist', () => {
    const page = readFileSync(path.join(SOURCE, 'README.md'), 'utf8');
    const names = [...page.matchAll(/`([a-z][\w/-]*(?:\/|\.ts))`/g)].map(
      match => match[1] as string,
    );
    expect(names.length).toBeGreaterThan(30);
    const missing = names
      .filter(name => !name.includes('NAME'))
      .filter(
        name =>
          !existsSync(path.join(SOURCE, name)) &&
          !existsSync(path.resolve(SOURCE, '..', name)) &&
          !['operators/', 'language/', 'match/', 'index/', 'sample/', 'console/'].includes(name),
      );
    expect(missing).toEqual([]);
  });
});
