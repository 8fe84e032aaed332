import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../temporary-folder.js';
import { calls } from '../calls.js';
import { disks } from '../disks.js';
import { jetstream } from '../jetstream.js';
import { matrix } from '../matrix.js';
import type { Mutant } from './mutant.js';
import { MUTANTS } from './mutants.js';
import { copyLibrary, mutated } from './mutate.js';

// Whether each mutant applies to the sources and is caught is for `npm run faults -- mutants`: an edit of a source does not fail here.

const mutant = (from: string, to: string): Mutant => ({
  name: 'one',
  mistake: 'is wrong',
  file: 'deep/keep',
  cells: [],
  from,
  to,
});

describe('a mutant', () => {
  it.each<[string, text: string, from: string, to: string, changed: string]>([
    ['as it is', 'a(); await b.sync(); c();', 'await b.sync();', '', 'a();  c();'],
    ['on several lines', 'a(\n  b,\n  { c },\n);', 'a(b, { c })', 'd(b)', 'd(b);'],
    ['on one line', 'a(b, c);', 'a(\n b,\n c,\n)', 'd()', 'd();'],
    ['with a comment at the end of a line', 'a(); // Why.\nb();', 'a(); b();', 'b();', 'b();'],
    ['with other quotes', 'if (a === "x") b();', "a === 'x'", 'true', 'if (true) b();'],
    ['with other arguments', 'a(); b(c, d(e));', 'b(…)', '…', 'a(); c, d(e);'],
    ['with arguments that stay', 'b(c, (d) => e(d), f);', 'b(…, f)', 'g(…)', 'g(c, (d) => e(d));'],
    ['with two of them', 'const a = b(c) ? d : e;', 'const … = b(…)', '… = …', 'a = c ? d : e;'],
    ['beside a longer name', 'abc(); bc();', 'bc()', 'x()', 'abc(); x();'],
    ['with a replacement pattern', 'a();', 'a()', "b('$&')", "b('$&');"],
  ])('finds its place %s', (_, text, from, to, changed) => {
    expect(mutated(text, mutant(from, to))).toBe(changed);
  });

  it.each<[string, text: string, from: string, count: string]>([
    ['has no such place', 'a(c);', 'a(b)', '0 times'],
    ['has it twice', 'a(b); a(b);', 'a(b)', '2 times'],
    ['has its parts in two statements', 'a(b); c(d);', 'a(… d)', '0 times'],
    ['has it as part of a name', 'aa(b);', 'a(b)', '0 times'],
  ])('no longer applies where the source %s', (_, text, from, count) => {
    expect(() => mutated(text, mutant(from, ''))).toThrow(
      new RegExp(`"one" no longer applies: deep/keep\\.ts has .* ${count}, not once`),
    );
  });

  it('is a copy of the library in which one file behaves differently', async () => {
    const folder = await temporaryFolder();
    const [source, library] = ['source', 'library'].map(name => path.join(folder, name)) as [
      string,
      string,
    ];
    for (const [name, text] of [
      ['source/deep/keep.ts', 'export const keep = (id: string): string => id;'],
      ['library/package.json', '{ "type": "module" }'],
      ['library/deep/keep.js', 'export const keep = id => id;'],
      ['library/index.js', "export { keep } from './deep/keep.js'; export const other = 1;"],
    ] as const) {
      await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
      await writeFile(path.join(folder, name), text);
    }
    const keepsOf = async (target: string, one: Mutant | undefined) => {
      const copy = await copyLibrary(library, path.join(folder, target), one, source);
      const { keep, other } = await import(fileURLToPath(new URL('index.js', copy)));
      return [keep('9007199254740993'), other];
    };
    expect(await keepsOf('whole', undefined)).toEqual(['9007199254740993', 1]);
    const damaged = mutant('=> id', '=> String(Number(id))');
    expect(await keepsOf('damaged', damaged)).toEqual(['9007199254740992', 1]);
    // The library itself stays as it is.
    expect(await readFile(path.join(library, 'deep/keep.js'), 'utf8')).not.toContain('Number');
  });
});

describe('the mutants', () => {
  it('name cells that exist and that have trials', () => {
    const known = [matrix, disks, calls, jetstream].flatMap(part =>
      part.cells
        // Those of LMDB have none where strace is not installed.
        .filter(({ expects, why }) => expects !== 'none' || why?.startsWith('needs strace'))
        .map(({ name }) => `${part.name} ${name}`),
    );
    for (const { name, cells } of MUTANTS) {
      expect(cells, name).not.toEqual([]);
      for (const cell of cells) expect(known, name).toContain(cell);
    }
  });
});
