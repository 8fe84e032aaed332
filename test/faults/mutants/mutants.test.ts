import { readFileSync } from 'node:fs';
import path from 'node:path';
import { transform } from 'esbuild';
import { describe, expect, inject, it } from 'vitest';
import { compileLibrary } from '../../compile-library.js';
import { root } from '../../pages.js';
import { isSlowSuite } from '../../slow-suite.js';
import { seeded } from '../../storage/simulated-disk.js';
import { calls } from '../calls.js';
import { KEPT } from '../disks/all-kept-files.js';
import { type DiskFault, sweepDisk } from '../disks/sweep-disk.js';
import { disks } from '../disks.js';
import { jetstream } from '../jetstream.js';
import { matrix } from '../matrix.js';
import type { Mutant } from './mutant.js';
import { MUTANTS } from './mutants.js';
import { copyLibrary, mutated } from './mutate.js';

describe('the mutants', () => {
  it.each(MUTANTS)('$name: has its text once in the source, and compiles', async mutant => {
    const source = readFileSync(path.join(root, 'src', `${mutant.file}.ts`), 'utf8');
    const changed = mutated(source, mutant);
    expect(changed).not.toBe(source);
    await transform(changed, { loader: 'ts' });
  });

  it('name cells that exist and that have trials', () => {
    const known = [matrix, disks, calls, jetstream].flatMap(part =>
      part.cells
        // Those of LMDB have none where strace is not installed.
        .filter(({ expects, why }) => expects !== 'none' || why?.startsWith('needs strace'))
        .map(({ name }) => `${part.name} ${name}`),
    );
    for (const { name, cells } of MUTANTS)
      for (const cell of cells) expect(known, name).toContain(cell);
  });

  it('are refused where the source no longer has their text', () => {
    expect(() => mutated('nothing', MUTANTS[0] as Mutant)).toThrow('no longer applies');
    const { from } = MUTANTS[0] as Mutant;
    expect(() => mutated(from + from, MUTANTS[0] as Mutant)).toThrow('2 times');
  });

  const caught: readonly [string, kept: string, fault: string][] = [
    ['renamed before synced', 'tokens', 'power'],
    ['checkpoint before output', 'files', 'kill'],
  ];
  it.each(isSlowSuite ? caught : caught.slice(0, 1))(
    '%s is caught by disks %s/%s, which holds without it',
    async (name, kept, fault) => {
      const mutant = MUTANTS.find(one => one.name === name) as Mutant;
      // Here it finds its dependencies.
      const compiled = inject('compiledSources');
      const library = path.join(compiled, 'library');
      await compileLibrary(library);
      const sweep = async (library: URL) => {
        const files = await KEPT.get(kept)?.(library);
        if (files === undefined) throw new Error(`No such files: ${kept}`);
        return sweepDisk(files, { fault: fault as DiskFault, random: seeded(1) });
      };
      const target = (folder: string) =>
        path.join(compiled, folder, mutant.file.replaceAll('/', '-'));
      const copies = [undefined, mutant].map((one, index) =>
        copyLibrary(library, target(`copy-${index}`), one),
      );
      const [whole, damaged] = await Promise.all(copies);
      expect(await sweep(whole as URL)).toBeGreaterThan(0);
      await expect(sweep(damaged as URL)).rejects.toThrow();
    },
  );
});
