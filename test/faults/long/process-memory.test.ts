import path from 'node:path';
import { build } from 'esbuild';
import { expect, inject, it } from 'vitest';
import { outputOf, spawn } from '../../child-processes.js';
import { processMemory } from './process-memory.js';

// Measures memory in a separate process. The process of the suite may release memory of other tests
// at any time.
it('processMemory includes the memory that a process allocates', async () => {
  const outfile = path.join(inject('compiledSources'), 'process-memory-child.js');
  await build({
    entryPoints: [path.join(import.meta.dirname, 'process-memory-child.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
  });
  const { stdout } = await outputOf(spawn(process.execPath, [outfile]));
  const { mebibytes } = JSON.parse(stdout);
  expect(mebibytes).toBeGreaterThan(250);
  expect(mebibytes).toBeLessThan(300);
});

it('processMemory reports young objects as part of the total memory', () => {
  const { all, young } = processMemory();
  expect(young).toBeGreaterThan(0);
  expect(young).toBeLessThan(all);
});
