import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { compileWasm, FRAME_OBJECTS } from '../compile-wasm.js';
import { root } from '../pages.js';

it('frame-objects-wasm.ts contains the compiled frame-objects.as', async () => {
  const committed = await readFile(path.join(root, 'src/json/frame-objects-wasm.ts'), 'utf8');
  expect(committed).toBe(await compileWasm(FRAME_OBJECTS));
}, 300_000);
