import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

/** Which script, and which entries of the library it loads. */
export interface ChildSources {
  /** Its path. @default that of the matrix */
  readonly script?: string;
  readonly entries?: readonly string[];
}

/** Tests of vitest import TypeScript; `npm run faults` runs it compiled. */
const EXTENSION = path.extname(import.meta.filename);

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
    script = path.join(import.meta.dirname, `pipeline-child${EXTENSION}`),
    entries = ['index'],
  }: ChildSources = {},
): Promise<BundledChild> {
  // Where Node finds the packages that it finds for the library.
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
    // Entries have the same classes.
    splitting: entries.length > 1,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'warning',
    // Between the files of a library that is bundled already.
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
