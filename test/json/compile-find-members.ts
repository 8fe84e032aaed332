import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import asc from 'assemblyscript/asc';
import { root } from '../pages.js';

const SOURCE = 'src/json/find-members.as';
const OPTIONS = [
  ...['--runtime', 'stub', '--noAssert', '-O3', '--converge', '--use', 'abort='],
  ...[
    '--enable',
    'simd',
    '--enable',
    'bulk-memory',
    '--initialMemory',
    '14',
    '--maximumMemory',
    '14',
  ],
];

/** Compiles `find-members.as`; returns the text of `find-members-wasm.ts`. */
export async function compileFindMembers(): Promise<string> {
  const source = await readFile(path.join(root, SOURCE), 'utf8');
  let wasm = new Uint8Array();
  const { error, stderr } = await asc.main(
    ['find-members.ts', '-o', 'find-members.wasm', ...OPTIONS],
    {
      readFile: name => (name === 'find-members.ts' ? source : null),
      writeFile: (_name, contents) => {
        wasm = contents as Uint8Array<ArrayBuffer>;
      },
      listFiles: () => [],
    },
  );
  if (error !== null) throw new Error(`${SOURCE} does not compile:\n${stderr}`);
  const base64 = Buffer.from(wasm).toString('base64');
  return `// Made from find-members.as by \`npm run build:wasm\`.\nexport const FIND_MEMBERS =\n  '${base64}';\n`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  await writeFile(path.join(root, 'src/json/find-members-wasm.ts'), await compileFindMembers());
