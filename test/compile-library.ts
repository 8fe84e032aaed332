import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { build, type PluginBuild } from 'esbuild';

const source = path.resolve(import.meta.dirname, '../src');

/** Compiles each source to a file of its own below `outdir`, without types. The build bundles them. */
export async function compileLibrary(outdir: string): Promise<void> {
  const entryPoints = (await sources()).map(name => path.join(source, `${name}.ts`));
  await build({
    entryPoints,
    outdir,
    bundle: true,
    plugins: [{ name: 'modules', setup: keepModules }],
    format: 'esm',
    platform: 'node',
    target: 'node20.18',
    logLevel: 'warning',
  });
}

/** Includes data in the file that imports it: Node 20 warns of imports of JSON. */
function keepModules({ onResolve }: PluginBuild): void {
  onResolve({ filter: /\.js$|^[^.]/ }, ({ kind }) => ({ external: kind !== 'entry-point' }));
}

/** The paths of the sources below `src`, without `.ts`; the script of threads is bundled instead. */
export async function sources(): Promise<string[]> {
  return (await readdir(source, { recursive: true }))
    .filter(name => /(?<!\.d)\.ts$/.test(name) && name !== 'worker.ts')
    .map(name => name.slice(0, -'.ts'.length));
}
