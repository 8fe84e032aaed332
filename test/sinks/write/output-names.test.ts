import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StorageError } from '../../../src/base/errors.js';
import { numberedName, OutputNames } from '../../../src/sinks/write/output-names.js';

describe('numberedName', () => {
  it.each([
    ['out/snow.jsonl', 2, 'out/snow.0002.jsonl'],
    ['out/snow.jsonl.gz', 12, 'out/snow.0012.jsonl.gz'],
    ['out/snow.jsonl.zst', 1, 'out/snow.0001.jsonl.zst'],
    ['out/snow', 10_000, 'out/snow.10000'],
    ['out.d/snow', 1, 'out.d/snow.0001'],
    ['out/.hidden', 1, 'out/.hidden.0001'],
    ['out/a.b.c', 1, 'out/a.b.0001.c'],
    ['out/.gz', 1, 'out/.gz.0001'],
  ])('numbers the file %s with %i as %s', (file, number, name) => {
    expect(numberedName(file, number)).toBe(name);
  });

  it('returns a unique name in the same folder', () => {
    const name = fc.stringMatching(/^[a-z.=%\n]{1,12}$/).filter(one => !/^\.+$/.test(one));
    fc.assert(
      fc.property(name, fc.nat(20_000), fc.nat(20_000), (file, a, b) => {
        expect(path.dirname(numberedName(`out/${file}`, a))).toBe('out');
        expect(numberedName(file, a) === numberedName(file, b)).toBe(a === b);
      }),
    );
  });
});

describe('OutputNames', () => {
  const namesWith = (claims = new Map<string, unknown>()) =>
    new OutputNames({ folder: '/work', reserved: ['run.json', '/work/run.json.lock'], claims });

  it.each([
    ['run.json', 'run%=.json'],
    ['./run.json', './run%=.json'],
    ['/work/run.json', '/work/run%=.json'],
    ['run.json.lock', 'run.json%=.lock'],
    ['a.jsonl.part', 'a.jsonl.part%='],
    ['a.PART', 'a.PART%='],
  ])('replaces the reserved name %s with %s', (file, name) => {
    expect(namesWith().unreserved(file)).toBe(name);
  });

  it.each(['a.jsonl', 'run2.json', 'other/run.json', 'part'])('keeps the name %s', file => {
    expect(namesWith().unreserved(file)).toBe(file);
  });

  it('gives the same file to only one sink, in whatever form the path is written', () => {
    const claims = new Map<string, unknown>();
    const [one, other] = [namesWith(claims), namesWith(claims)];
    expect(one.claim('out/a', 'one')).toBe('/work/out/a');
    expect(one.claim('./out//a', 'one')).toBe('/work/out/a');
    expect(() => other.claim('/work/out/../out/a', 'other')).toThrow(StorageError);
    expect(other.claim('out/b', 'other')).toBe('/work/out/b');
  });
});
