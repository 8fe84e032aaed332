import { describe, expect, it } from 'vitest';
import { documentationOf, publicExports } from './public-api.js';

describe('the reference', () => {
  const exported = [...publicExports()];

  it('is of the whole package', () => {
    const names = exported.map(([name]) => name);
    for (const name of ['search', 'jobs.run', 'service:createService', 'rules.Problem'])
      expect(names).toContain(name);
  });

  it('says what every export is', () => {
    const silent = exported.filter(([, symbol]) => documentationOf(symbol) === '');
    expect(silent.map(([name]) => name)).toEqual([]);
  });
});
