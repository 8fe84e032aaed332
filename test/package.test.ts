import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { build, type Format } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { BASH_ARGS } from './child-processes.js';
import { sources } from './compile-library.js';
import { modules, packedProject, TSC } from './packed-project.js';
import { blocksOf, pageNamed } from './pages.js';
import { isNightly } from './suite.js';

const exec = promisify(execFile);
const formats: readonly ('esm' | 'cjs')[] = ['esm', 'cjs'];
let folder: string;
let project: string;

const tsc = (...args: readonly string[]) =>
  exec(process.execPath, [TSC, ...args], {
    cwd: project,
  }).catch(error => {
    throw new Error(`${error.stdout}${error.stderr}`);
  });

const SCRIPT = `
import { account, collect, openTombstones, pipeline, search } from 'millrace';
import { createService } from 'millrace/service';

async function main() {
  const service = createService({ postsPerMinute: 1 });
  const acme = account(await service.start());
  const query = { product: '30day', query: 'rain', limit: 20 };
  const posts = await pipeline(search(acme, query), collect());
  await service.stop();
  const tombstones = await openTombstones('tombstones').then(
    opened => opened.close().then(() => 'opened'),
    ({ name, code, message }) => ({ name, code, message }),
  );
  console.log(JSON.stringify({ posts: posts.length, tombstones }));
}
main();
`;

const TYPED = `
import { account, type Activity, collect, Flow, openTombstones, pipeline, search } from 'millrace';
import { createService, type Service } from 'millrace/service';

export async function main(): Promise<readonly Activity[]> {
  const service: Service = createService();
  await using tombstones = await openTombstones('tombstones');
  const nothing = new Flow<number>(async function* () {});
  const numbers: readonly number[] = await pipeline(nothing, collect());
  console.log(tombstones.size, numbers);
  return pipeline(
    search(account(await service.start()), { product: '30day', query: 'rain' }),
    collect(),
  );
}
`;

const TYPED_BY_IMPORT = `
import type { Activity } from 'millrace' with { 'resolution-mode': 'import' };

export async function main(): Promise<readonly Activity[]> {
  const { account, collect, pipeline, search } = await import('millrace');
  const { createService } = await import('millrace/service');
  await using service = createService();
  return pipeline(
    search(account(await service.start()), { product: '30day', query: 'rain' }),
    collect(),
  );
}
`;

/**
 * Compiles all files in one run of tsc, so that it checks the declarations of the library only
 * once.
 */
async function compile(files: Readonly<Record<string, string>>, modes: object): Promise<void> {
  for (const [file, code] of Object.entries(files)) await writeFile(path.join(project, file), code);
  const strict = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false };
  const compilerOptions = { ...modes, ...strict, target: 'es2022', types: ['node'], noEmit: true };
  await writeFile(
    path.join(project, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: Object.keys(files) }),
  );
  await tsc('-p', '.');
  for (const file of Object.keys(files)) await rm(path.join(project, file));
}

beforeAll(async () => {
  ({ folder, project } = await packedProject({ hasTypes: true }));
  await writeFile(path.join(project, 'package.json'), '{ "type": "module" }');
  await writeFile(path.join(project, 'script.js'), SCRIPT);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function run(script: string, cwd = path.dirname(script)): Promise<unknown> {
  const { stdout, stderr } = await exec(process.execPath, [script], { cwd });
  expect(stderr).not.toContain('    at ');
  return JSON.parse(stdout);
}

describe('the packed package', () => {
  it('contains only files that its users need', async () => {
    const files = (await installedFiles())
      // Excludes the chunks that entry points share or load on first use.
      .filter(name => !/^dist\/[a-z-]+-[0-9A-Z]{8}\.js$/.test(name))
      .filter(name => !/\.md$|^examples\/|^bench\/(charts\/|results\.json$)/.test(name));
    expect(files.toSorted()).toEqual(
      [
        ...['package.json', 'LICENSE', 'dist/engine-worker.cjs', 'dist/service/cli.js'],
        'dist/command/millrace.js',
        ...['index', 'service/index', 'jetstream/index'].map(entry => `dist/${entry}.js`),
        // The script of the threads is bundled, but a declaration file contains the types of its
        // calls.
        ...[...(await sources()), 'worker'].map(name => `dist/${name}.d.ts`),
      ].toSorted(),
    );
  });

  it('declares byte arrays without the type arguments that TypeScript 5.4 does not know', async () => {
    // The compiler prints an inferred `Uint8Array` with a type argument, which TypeScript accepts
    // only since 5.7.
    const generic: string[] = [];
    const dist = path.join(project, 'node_modules/millrace/dist');
    const names = new Set(['index', 'service/index', 'jetstream/index']);
    for (const name of names) {
      const text = await readFile(path.join(dist, `${name}.d.ts`), 'utf8');
      if (/\b(Uint8Array|Uint32Array|Buffer|DataView)</.test(text)) generic.push(name);
      for (const [, from = ''] of text.matchAll(/(?:from |import\()["'](\.[^"']+)\.js["']/g))
        names.add(path.posix.join(path.posix.dirname(name), from));
    }
    expect(names.size).toBeGreaterThan(50);
    expect(generic).toEqual([]);
  });

  it('contains every file that its pages link to', async () => {
    const files = new Set(await installedFiles());
    const folders = new Set([...files].flatMap(foldersOf));
    // The pages below `test/` link to files that only the repository has, so their links are not
    // checked.
    const pages = [...files].filter(name => /\.md$/.test(name) && !/^test\//.test(name));
    expect(pages).toEqual(
      expect.arrayContaining(['README.md', 'CHANGELOG.md', 'src/jobs/README.md']),
    );
    const missing = await Promise.all(
      pages.map(async page => {
        const text = await readFile(path.join(installed(), page), 'utf8');
        return [...text.matchAll(/\]\(([^)\s#]+)[^)\s]*\)/g)]
          .map(match => match[1] as string)
          .filter(link => !/^https?:/.test(link))
          .filter(link => {
            const target = path.posix.join(path.posix.dirname(page), link).replace(/\/$/, '');
            return !files.has(target) && !folders.has(target);
          })
          .map(link => `${page}: ${link}`);
      }),
    );
    expect(missing.flat()).toEqual([]);
  });
});

const installed = () => path.join(project, 'node_modules/millrace');

async function installedFiles(): Promise<readonly string[]> {
  const entries = await readdir(installed(), { recursive: true, withFileTypes: true });
  return entries
    .filter(entry => entry.isFile())
    .map(({ parentPath, name }) => path.relative(installed(), path.join(parentPath, name)));
}

function foldersOf(file: string): readonly string[] {
  const folder = path.posix.dirname(file);
  return folder === '.' ? [] : [folder, ...foldersOf(folder)];
}

describe('a project that installs the package', () => {
  it('has a command that prints its usage and version', async () => {
    const { stdout } = await exec('npx', ['millrace-service', '--help'], { cwd: project });
    expect(stdout).toContain('Usage: npx millrace-service [options]');
    expect(stdout).toContain('eval "$(npx millrace-service --port ');
    const command = path.join(project, 'node_modules/.bin/millrace-service');
    expect((await exec(command, ['--version'])).stdout).toBe(`${manifest.version}\n`);
    const millrace = await exec('npx', ['millrace', '--version'], { cwd: project });
    expect(millrace.stdout).toBe(`${manifest.version}\n`);
  });

  it('can import the package in an ES module', async () => {
    expect(await run(path.join(project, 'script.js'))).toEqual({ posts: 20, tombstones: 'opened' });
  });

  it('gets each function and class under its original name', async () => {
    const script = path.join(project, 'names.js');
    await writeFile(
      script,
      `const entries = ['millrace', 'millrace/service', 'millrace/jetstream'];
      const modules = await Promise.all(entries.map(entry => import(entry)));
      const exported = modules.flatMap(module => Object.entries(module));
      const functions = exported.filter(([, value]) => typeof value === 'function');
      const others = functions.filter(([name, value]) => value.name !== name);
      console.log(JSON.stringify({ functions: functions.length, others: others.map(([name]) => name) }));`,
    );
    expect(await run(script)).toEqual({ functions: expect.any(Number), others: [] });
  });

  it('reads stored files in worker threads that load the worker script of the package', async () => {
    const script = path.join(project, 'threads.js');
    await writeFile(path.join(project, 'posts.jsonl'), '{"id":1,"id_str":"1"}\n');
    await writeFile(
      script,
      `import { activities, files, jsonLines, localFiles, pipeline } from 'millrace';
      let threads = 0;
      process.on('worker', () => threads++);
      const out = files({ path: 'threads.jsonl', workers: 1 });
      const { posts } = await pipeline(localFiles('posts.jsonl'), jsonLines(), activities(), out);
      console.log(JSON.stringify({ posts, threads }));`,
    );
    expect(await run(script)).toEqual({ posts: 1, threads: 1 });
  });

  it('loads the package in CommonJS with `import()`, and with `require` if Node supports it', async () => {
    const script = path.join(project, 'script.cjs');
    const load = process.features.require_module === true ? 'require' : 'await import';
    await writeFile(
      script,
      `(async () => {
        const { pipeline } = ${load}('millrace');
        const { createService } = ${load}('millrace/service');
        const same = (await import('millrace')).pipeline === pipeline;
        console.log(JSON.stringify([typeof pipeline, typeof createService, same]));
      })();`,
    );
    expect(await run(script)).toEqual(['function', 'function', true]);
  });
});

type Modules = [
  module: string,
  resolution: string,
  typesOf: '@types/node' | 'types-node-22' | 'types-node-24',
  files: Readonly<Record<string, string>>,
];
const OTHER_MODULES: readonly Modules[] = isNightly
  ? [
      // `node16` does not allow `require` of an ES module.
      ['node16', 'node16', '@types/node', { 'main.ts': TYPED, 'main.cts': TYPED_BY_IMPORT }],
      ['node20', 'node16', '@types/node', { 'main.cts': TYPED }],
      ['esnext', 'bundler', '@types/node', { 'main.ts': TYPED }],
      ['nodenext', 'nodenext', 'types-node-22', { 'main.ts': TYPED }],
      ['nodenext', 'nodenext', 'types-node-24', { 'main.ts': TYPED }],
    ]
  : [];

describe('the types of the package', () => {
  it.each<Modules>([
    ['nodenext', 'nodenext', '@types/node', { 'main.ts': TYPED, 'main.cts': TYPED }],
    ['preserve', 'bundler', 'types-node-24', { 'main.ts': TYPED }],
    ...OTHER_MODULES,
  ])(
    'compile with skipLibCheck off: module %s, resolution %s, %s',
    async (module, moduleResolution, typesOf, files) => {
      const types = path.join(project, 'node_modules/@types/node');
      await rm(types);
      await symlink(path.join(modules, typesOf), types);
      await compile(files, { module, moduleResolution });
    },
  );
});

async function bundle(format: Format, external: readonly string[]): Promise<string> {
  const moved = await mkdtemp(path.join(folder, 'moved-'));
  const outfile = path.join(moved, format === 'esm' ? 'bundle.mjs' : 'bundle.cjs');
  const { warnings } = await build({
    entryPoints: [path.join(project, 'script.js')],
    outfile,
    format,
    bundle: true,
    platform: 'node',
    target: 'node20',
    external: [...external],
    logLevel: 'silent',
    // CommonJS packages that are bundled into an ES module need a `require` for Node's modules.
    ...(format === 'esm' && {
      banner: {
        js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
      },
    }),
  });
  expect(warnings.filter(({ text }) => text.includes('millrace'))).toEqual([]);
  return outfile;
}

describe('a bundle of the package', () => {
  it.each(formats)(
    'for %s works without LMDB, and names LMDB in an error only when it is needed',
    async format => {
      const answer = await run(await bundle(format, ['lmdb']));
      expect(answer).toEqual({
        posts: 20,
        tombstones: {
          name: 'StorageError',
          code: 'ERR_STORAGE',
          message: expect.stringContaining('keep `lmdb` external and install it'),
        },
      });
    },
  );

  it.each(formats)('for %s works with LMDB installed next to it', async format => {
    const file = await bundle(format, ['lmdb']);
    await mkdir(path.join(path.dirname(file), 'node_modules'));
    await symlink(path.join(modules, 'lmdb'), path.join(path.dirname(file), 'node_modules/lmdb'));
    expect(await run(file)).toEqual({ posts: 20, tombstones: 'opened' });
  });

  it.each(formats)('for %s that includes LMDB fails only when LMDB is used', async format => {
    expect(await run(await bundle(format, []))).toMatchObject({
      posts: 20,
      tombstones: { code: 'ERR_STORAGE' },
    });
  });
});

describe('the page on bundlers and CommonJS', () => {
  const page = pageNamed('examples/bundling.md');
  beforeAll(() =>
    symlink(path.join(modules, '@rollup'), path.join(project, 'node_modules/@rollup')),
  );

  const commands = blocksOf(page, 'sh');
  it.each(commands)('has a command whose bundle runs: %s', async command => {
    for (const config of blocksOf(page, 'mjs')) {
      const [, name = ''] = /^\/\/ (\S+)\n/.exec(config) ?? [];
      await writeFile(path.join(project, name), config);
    }
    const bin = path.join(modules, '.bin');
    const env = { ...process.env, PATH: `${bin}${path.delimiter}${process.env.PATH}` };
    await exec('bash', [...BASH_ARGS, command], { cwd: project, env });
    const [, outfile] = /--outfile=(\S+)/.exec(command) ?? [];
    const [, dir = ''] = /--(?:dir|outDir)=(\S+)/.exec(command) ?? [];
    const bundle = path.join(project, outfile ?? path.join(dir, 'script.js'));
    expect(await run(bundle)).toEqual({ posts: 20, tombstones: 'opened' });
  });

  const commonJs = blocksOf(page, 'js').filter(
    code => process.features.require_module === true || !code.includes('require('),
  );
  it.each(commonJs.map(code => [code.split('\n', 1)[0], code] as const))(
    'has a CommonJS example that runs and begins with %s',
    async (_, code) => {
      const script = path.join(project, 'page.cjs');
      await writeFile(script, code);
      const { stderr } = await exec(process.execPath, [script]);
      expect(stderr).not.toContain('    at ');
    },
  );
});
