import { describe, expect, it } from 'vitest';
import { withCoverage } from './coverage-table.js';

const folder = (lines: string) => ({ name: 'src/base', lines, branches: '50.0 %' });
const PAGE = '# The tests\n\nHow to run them.\n';

describe('the coverage table of a page', () => {
  it('is added if the page has none yet', () => {
    const page = withCoverage(PAGE, [folder('90.0 %')]);
    expect(page.startsWith(`${PAGE}\n## Coverage\n`)).toBe(true);
    expect(page.endsWith('|---|---|---|\n| `src/base` | 90.0 % | 50.0 % |\n')).toBe(true);
  });

  it('replaces the table of an earlier run', () => {
    const once = withCoverage(PAGE, [folder('90.0 %')]);
    const twice = withCoverage(once, [folder('80.0 %')]);
    expect(twice).toBe(once.replace('90.0 %', '80.0 %'));
  });
});
