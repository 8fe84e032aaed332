import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, realpath, rename, symlink } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import manifest from '../package.json' with { type: 'json' };
import { buildLibrary, buildWorker } from './build.js';
import { root } from './pages.js';

const exec = promisify(execFile);
export const modules = path.join(root, 'node_modules');
export const TSC = path.join(modules, 'typescript-7/bin/tsc');

export interface PackedProject {
  /** The temporary folder. The caller must remove it after the tests. */
  readonly folder: string;
  /**
   * A folder inside `folder` with the packed library in its `node_modules`, as after `npm install`.
   */
  readonly project: string;
}

/**
 * Installs the packed library. It uses the dependencies of this checkout. MILLRACE_PACKED is the
 * path of a package that `npm run check` has packed. If it is not set, builds and packs the
 * library. In this case, the package has declarations only with `hasTypes`, because building them
 * takes most of the time.
 */
export async function packedProject({
  hasTypes = false,
}: {
  readonly hasTypes?: boolean;
} = {}): Promise<PackedProject> {
  const folder = await realpath(await mkdtemp(path.join(os.tmpdir(), 'millrace-package-')));
  const project = path.join(folder, 'project');
  const installed = path.join(project, 'node_modules');
  await mkdir(path.join(installed, '.bin'), { recursive: true });
  const packed = process.env.MILLRACE_PACKED ?? (await pack(folder, hasTypes));
  await exec('tar', ['xzf', packed], { cwd: folder });
  await rename(path.join(folder, 'package'), path.join(installed, 'millrace'));
  for (const [name, file] of Object.entries(manifest.bin)) {
    const target = path.join(installed, 'millrace', file);
    await chmod(target, 0o755);
    await symlink(target, path.join(installed, '.bin', name));
  }
  for (const name of Object.keys(manifest.dependencies))
    await symlink(path.join(modules, name), path.join(installed, name));
  await mkdir(path.join(installed, '@types'));
  await symlink(path.join(modules, '@types/node'), path.join(installed, '@types/node'));
  return { folder, project };
}

async function pack(folder: string, hasTypes: boolean): Promise<string> {
  const packed = path.join(folder, 'packed');
  await mkdir(packed);
  for (const name of await packedFromRoot())
    await cp(path.join(root, name), path.join(packed, name), { recursive: true });
  const outdir = path.join(packed, 'dist');
  if (hasTypes)
    await exec(process.execPath, [
      TSC,
      ...['-p', path.join(root, 'src/tsconfig.json'), '--outDir', outdir, '--noCheck'],
    ]);
  await buildLibrary(outdir);
  await buildWorker(path.join(outdir, 'engine-worker.cjs'));
  const { stdout } = await exec('npm', ['pack', '--ignore-scripts', '--silent'], { cwd: packed });
  return path.join(packed, stdout.trim());
}

/**
 * Returns the files that npm packs from the project itself, without those that the build creates.
 */
async function packedFromRoot(): Promise<readonly string[]> {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const { stdout } = await exec('npm', args, { cwd: root, maxBuffer: 16 << 20 });
  const [pack] = JSON.parse(stdout) as [{ readonly files: readonly { readonly path: string }[] }];
  return pack.files.map(({ path }) => path).filter(name => !name.startsWith('dist/'));
}
