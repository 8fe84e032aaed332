import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { build, type PluginBuild } from 'esbuild';

const source = path.resolve(import.meta.dirname, '../src');

/**
 * Compiles each source to a separate file below `outdir`, without types. The build then bundles the
 * compiled files.
 */
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

/**
 * Keeps imports of sources and packages as imports. Inlines JSON data, because Node 20 warns about
 * JSON imports.
 */
function keepModules({ onResolve }: PluginBuild): void {
  onResolve({ filter: /\.js$|^[^.]/ }, ({ kind }) => ({ external: kind !== 'entry-point' }));
}

/**
 * Returns the paths of the sources below `src`, without `.ts`. Excludes `worker.ts`, the script of
 * the threads, which is bundled separately.
 */
export async function sources(): Promise<string[]> {
  return (await readdir(source, { recursive: true }))
    .filter(name => /(?<!\.d)\.ts$/.test(name) && name !== 'worker.ts')
    .map(name => name.slice(0, -'.ts'.length));
}
