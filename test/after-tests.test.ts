import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { afterTests } from './after-tests.js';

let cleaned = 0;
afterTests(async () => {
  cleaned++;
});

describe('afterTests()', () => {
  it.each([0, 1])(
    'runs the cleanup function after each test (runs before this test: %i)',
    before => {
      expect(cleaned).toBe(before);
    },
  );

  it('is used by every test helper instead of the hooks of Vitest', () => {
    const modules = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' }).filter(
      name => name.endsWith('.ts') && !name.endsWith('.test.ts') && name !== 'setup.ts',
    );
    const withHooks = modules.filter(name =>
      /^(?:after|before)(?:Each|All)\(/m.test(
        readFileSync(path.join(import.meta.dirname, name), 'utf8'),
      ),
    );
    expect(withHooks).toEqual([]);
  });
});
