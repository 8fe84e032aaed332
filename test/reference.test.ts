import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { documentationOf, propertiesOf, publicExports } from './public-api.js';

/**
 * Documentation that only repeats the name, such as "Options of `search`." or "The result of a
 * job."
 */
const STUB =
  /^((the |a |an )?(options?|settings|results?|types?|values?) (of|for)|what) \S+( \S+)?\.?$/i;
const MIN_WORDS = 5;

const isStub = (text: string) =>
  STUB.test(text.trim()) || text.trim().split(/\s+/).length < MIN_WORDS;

describe('the API reference of the package', () => {
  const exported = [...publicExports()];

  it('includes exports of every entry point', () => {
    const names = exported.map(([name]) => name);
    for (const name of ['search', 'jobs.run', 'service:createService', 'rules.Problem'])
      expect(names).toContain(name);
  });

  it('explains every export, not only by repeating its name', () => {
    const stubs = exported.filter(([, symbol]) => isStub(documentationOf(symbol)));
    expect(stubs.map(([name, symbol]) => `${name}: ${documentationOf(symbol)}`)).toEqual([]);
  });

  it('explains every member of the exported options', () => {
    const options = exported.filter(([name]) => /Options$/.test(name));
    expect(options.length).toBeGreaterThan(30);
    const silent = options.flatMap(([name, symbol]) =>
      propertiesOf(symbol)
        .filter(member => documentationOf(member).replace(/^@default.*/, '') === '')
        .map(member => `${name}.${member.name}`),
    );
    expect(silent).toEqual([]);
  });

  it('shows an example for every function', () => {
    const without = exported.filter(
      ([, symbol]) =>
        (symbol.flags & ts.SymbolFlags.Function) !== 0 &&
        !symbol.getJsDocTags().some(tag => tag.name === 'example'),
    );
    expect(without.map(([name]) => name)).toEqual([]);
  });

  it.each([
    '',
    'Options of `search`.',
    'The options for jobs',
    'The result of `files`.',
    'A rule.',
  ])('may not contain the empty description %j', text => {
    expect(isStub(text)).toBe(true);
  });
});
