import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { transform } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { type Mutant, mirroredFolder, mutated, readMutants, sampled } from './mutate.js';
import { root } from './pages.js';

const MUTANTS = readMutants();

describe('the list of mutants', () => {
  it('contains only code that occurs exactly once in its source file', async () => {
    const failures: string[] = [];
    for (const mutant of MUTANTS) {
      try {
        const text = await readFile(path.join(root, mutant.file), 'utf8');
        await transform(mutated(text, mutant), { loader: 'ts', target: 'es2023' });
      } catch (error) {
        failures.push(`${mutant.file}, ${mutant.mistake}: ${(error as Error).message}`);
      }
    }
    expect(failures).toEqual([]);
    expect(MUTANTS.length).toBeGreaterThan(50);
  });

  it('names test files that exist', () => {
    const names = MUTANTS.flatMap(({ tests }) => tests);
    expect(
      names.filter(name => !/\.test\.ts$/.test(name) || !existsSync(path.join(root, name))),
    ).toEqual([]);
  });

  it('contains no mutant that equals another one or the original code', () => {
    const changes = MUTANTS.map(({ file, from, to }) => JSON.stringify([file, from, to]));
    expect(new Set(changes).size).toBe(changes.length);
    for (const { from, to } of MUTANTS) expect(to).not.toBe(from);
  });
});

describe('a mutant', () => {
  const mutant: Mutant = {
    file: 'src/a.ts',
    from: 'a()',
    to: "b('$&')",
    mistake: 'calls b',
    tests: ['test/a.test.ts'],
  };

  it('replaces exactly the code that it names', () => {
    expect(mutated('x; a(); y;', mutant)).toBe("x; b('$&'); y;");
  });

  it.each([
    ['b();', '0 times'],
    ['a(); a();', '2 times'],
  ])('causes an error if the source file is %j', (text, count) => {
    expect(() => mutated(text, mutant)).toThrow(`src/a.ts contains "a()" ${count}, not once`);
  });

  it.each([
    ['src/sinks/files.ts', 'test/sinks/'],
    ['src/rules/match/compile-rule.ts', 'test/rules/match/'],
    ['src/no/such/folder.ts', 'test/'],
  ])('of %s is tested by default with the tests in %s', (file, folder) => {
    expect(mirroredFolder(file)).toBe(folder);
  });
});

describe('a sample of mutants', () => {
  const items = Array.from({ length: 50 }, (_, n) => n);

  it('has the requested size, and the same mutants in the same order for the same seed', () => {
    const picked = sampled(items, 20, 7);
    expect(picked).toHaveLength(20);
    expect(picked).toEqual(picked.toSorted((a, b) => a - b));
    expect(sampled(items, 20, 7)).toEqual(picked);
    expect(sampled(items, 20, 8)).not.toEqual(picked);
    expect(sampled(items, 80, 7)).toEqual(items);
  });
});
