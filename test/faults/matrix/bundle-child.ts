import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

export interface ChildSources {
  readonly script?: string;
  readonly entries?: readonly string[];
}

/** The extension of scripts. Vitest runs TypeScript, but `npm run faults` runs compiled scripts. */
const EXTENSION = path.extname(import.meta.filename);

export interface BundledChild {
  readonly script: string;
  readonly library: URL;
  remove(): Promise<void>;
}

/**
 * Bundles the library with the script of the processes that a test kills. A process that lives for
 * milliseconds would spend most of its time loading hundreds of modules.
 */
export async function bundleChild(
  library: URL,
  {
    script = path.join(import.meta.dirname, `pipeline-child${EXTENSION}`),
    entries = ['index'],
  }: ChildSources = {},
): Promise<BundledChild> {
  // The bundle is inside the library's folder, so that Node finds the same packages.
  const folder = await mkdtemp(fileURLToPath(new URL('kills-', library)));
  await build({
    entryPoints: {
      ...Object.fromEntries(
        entries.map(entry => [entry, fileURLToPath(new URL(`${entry}.js`, library))]),
      ),
      child: script,
      'watched-thread-child': path.join(import.meta.dirname, `watched-thread-child${EXTENSION}`),
    },
    outdir: folder,
    // With several entry points, splitting makes them share their classes.
    splitting: entries.length > 1,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'warning',
    // If the library is already bundled, esbuild would print this warning for imports between its
    // files.
    logOverride: { 'ignored-bare-import': 'silent' },
    external: ['lmdb', 'libsql', '@nats-io/*'],
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  });
  await copyFile(
    new URL('files/engine-worker.cjs', library),
    path.join(folder, 'engine-worker.cjs'),
  );
  return {
    script: path.join(folder, 'child.js'),
    library: pathToFileURL(`${folder}/`),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
