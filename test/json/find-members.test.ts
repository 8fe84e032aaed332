import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../pages.js';
import { compileFindMembers } from './compile-find-members.js';

it('find-members-wasm.ts is what find-members.as compiles to', async () => {
  const committed = await readFile(path.join(root, 'src/json/find-members-wasm.ts'), 'utf8');
  expect(committed).toBe(await compileFindMembers());
}, 300_000);
