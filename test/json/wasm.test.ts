import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { compileWasm, FIND_MEMBERS, FRAME_OBJECTS } from '../compile-wasm.js';
import { root } from '../pages.js';

it.each([FIND_MEMBERS, FRAME_OBJECTS])(
  '$source-wasm.ts is what $source.as compiles to',
  async module => {
    const committed = await readFile(path.join(root, `${module.source}-wasm.ts`), 'utf8');
    expect(committed).toBe(await compileWasm(module));
  },
  300_000,
);
