import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

/** Which script, and which entries of the library it loads. */
export interface ChildSources {
  /** The path of its JavaScript. @default that of the matrix */
  readonly script?: string;
  readonly entries?: readonly string[];
}

/** What the processes that are killed load. */
export interface BundledChild {
  /** The script to start. */
  readonly script: string;
  /** The library's folder, with a slash at its end. */
  readonly library: URL;
  remove(): Promise<void>;
}

/**
 * Bundles the script of the processes that are killed, and the library: hundreds of modules take most of
 * the time of a process that lives for some milliseconds.
 */
export async function bundleChild(
  library: URL,
  {
    script = path.join(import.meta.dirname, 'pipeline-child.js'),
    entries = ['index'],
  }: ChildSources = {},
): Promise<BundledChild> {
  // Inside of the project, where Node finds LMDB and the client of NATS.
  const bundles = path.join(import.meta.dirname, '../../../../bundles');
  await mkdir(bundles, { recursive: true });
  const folder = await mkdtemp(path.join(bundles, 'kills-'));
  await build({
    entryPoints: {
      ...Object.fromEntries(
        entries.map(entry => [entry, fileURLToPath(new URL(`${entry}.js`, library))]),
      ),
      child: script,
      'watched-thread-child': path.join(import.meta.dirname, 'watched-thread-child.js'),
    },
    outdir: folder,
    // Entries have the same classes.
    splitting: entries.length > 1,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'warning',
    external: ['lmdb', '@nats-io/*'],
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
