import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { compileWasm, ENCODE_VALUES } from '../../compile-wasm.js';
import { root } from '../../pages.js';

it('encode-values-wasm.ts contains the compiled encode-values.as', async () => {
  const committed = await readFile(
    path.join(root, 'src/tables/parquet/encode-values-wasm.ts'),
    'utf8',
  );
  expect(committed).toBe(await compileWasm(ENCODE_VALUES));
}, 300_000);
