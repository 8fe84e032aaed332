import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { compileWasm, FIND_MEMBERS } from '../../compile-wasm.js';
import { root } from '../../pages.js';

it('find-members-wasm.ts contains the compiled find-members.as', async () => {
  const committed = await readFile(path.join(root, 'src/post/bytes/find-members-wasm.ts'), 'utf8');
  expect(committed).toBe(await compileWasm(FIND_MEMBERS));
}, 300_000);
