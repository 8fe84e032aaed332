import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import asc from 'assemblyscript/asc';
import { root } from './pages.js';

/** An AssemblyScript module, and the size of its memory in pages of 64 KiB. */
interface Module {
  /** The path without the extension `.as`. */
  readonly source: string;
  readonly initialMemory: number;
  readonly maximumMemory: number;
}

export const FIND_MEMBERS: Module = {
  source: 'src/post/bytes/find-members',
  initialMemory: 14,
  maximumMemory: 14,
};
export const FRAME_OBJECTS: Module = {
  source: 'src/json/frame-objects',
  initialMemory: 4,
  maximumMemory: 4,
};
export const ENCODE_VALUES: Module = {
  source: 'src/tables/parquet/encode-values',
  initialMemory: 2,
  maximumMemory: 65_536,
};

/** Compiles a module. Returns the source text of its generated file, whose name ends in `-wasm.ts`. */
export async function compileWasm({ source, initialMemory, maximumMemory }: Module) {
  const text = await readFile(path.join(root, `${source}.as`), 'utf8');
  let wasm = new Uint8Array();
  const { error, stderr } = await asc.main(
    [
      ...['module.ts', '-o', 'module.wasm', '--runtime', 'stub', '--noAssert', '-O3', '--converge'],
      ...['--use', 'abort=', '--enable', 'simd', '--enable', 'bulk-memory'],
      ...['--initialMemory', String(initialMemory), '--maximumMemory', String(maximumMemory)],
    ],
    {
      readFile: name => (name === 'module.ts' ? text : null),
      writeFile: (_name, contents) => {
        wasm = contents as Uint8Array<ArrayBuffer>;
      },
      listFiles: () => [],
    },
  );
  if (error !== null) throw new Error(`${source}.as does not compile:\n${stderr}`);
  const name = path.basename(source);
  const constant = name.toUpperCase().replace('-', '_');
  const base64 = Buffer.from(wasm).toString('base64');
  return `// Generated from ${name}.as by \`npm run build:wasm\`.\nexport const ${constant} =\n  '${base64}';\n`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  for (const module of [FIND_MEMBERS, FRAME_OBJECTS, ENCODE_VALUES])
    await writeFile(path.join(root, `${module.source}-wasm.ts`), await compileWasm(module));
