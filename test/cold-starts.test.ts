import { execFile } from 'node:child_process';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { createService } from 'millrace/service';
import { beforeAll, describe, expect, it } from 'vitest';
import { compileLibrary } from './compile-library.js';
import { temporaryFolder } from './temporary-folder.js';

let library: string;

beforeAll(async () => {
  library = await temporaryFolder();
  await symlink(
    path.resolve(import.meta.dirname, '../node_modules'),
    path.join(library, 'node_modules'),
  );
  await writeFile(path.join(library, 'package.json'), '{"type":"module","version":"0.0.0"}');
  await compileLibrary(path.join(library, 'src'));
});

/** Hooks of Node that write the URL of each loaded module to a file. */
const HOOKS = `
  import { appendFileSync } from 'node:fs';
  export function load(url, context, next) {
    appendFileSync('loaded.txt', url + '\\n');
    return next(url, context);
  }
`;
const REGISTER =
  "import { register } from 'node:module'; register('./hooks.mjs', import.meta.url);";

async function loadedBy(args: readonly string[]) {
  const folder = await temporaryFolder();
  await writeFile(path.join(folder, 'hooks.mjs'), HOOKS);
  await writeFile(path.join(folder, 'register.mjs'), REGISTER);
  await promisify(execFile)(process.execPath, ['--import', './register.mjs', ...args], {
    cwd: folder,
  });
  const urls = (await readFile(path.join(folder, 'loaded.txt'), 'utf8')).split('\n');
  const built = `${path.basename(library)}/src/`;
  return {
    packages: urls.flatMap(url => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []),
    files: urls.flatMap(url => url.split(built)[1] ?? []),
  };
}

const script = (code: string) => ['--input-type=module', '-e', code];
const moduleOf = (name: string) =>
  JSON.stringify(pathToFileURL(path.join(library, 'src', name)).href);

describe('a small program', () => {
  it("with only `import 'millrace'` loads no LMDB, HTTP client or local service", async () => {
    const { packages, files } = await loadedBy(script(`import ${moduleOf('index.js')};`));
    expect(files).toContain('index.js');
    expect(packages).not.toContain('lmdb');
    expect(packages).not.toContain('undici');
    expect(files.filter(file => file.startsWith('service/'))).toEqual([]);
  });

  it('that searches into a file loads neither LMDB nor the local service', async () => {
    await using service = createService();
    const addresses = JSON.stringify(await service.start());
    const { packages, files } = await loadedBy(
      script(`
        import { account, files, pipeline, search } from ${moduleOf('index.js')};
        const query = { product: '30day', query: 'coffee', limit: 10 };
        await pipeline(search(account(${addresses}), query), files({ path: 'posts.jsonl' }));
      `),
    );
    expect(packages).toContain('undici');
    expect(packages).not.toContain('lmdb');
    expect(files.filter(file => file.startsWith('service/'))).toEqual([]);
  });

  it('that prints `millrace --help` loads neither LMDB, an HTTP client nor the library', async () => {
    const { packages, files } = await loadedBy([
      path.join(library, 'src/command/millrace.js'),
      '--help',
    ]);
    expect(files).toContain('command/millrace.js');
    expect(files).not.toContain('index.js');
    expect(packages).not.toContain('lmdb');
    expect(packages).not.toContain('undici');
  });

  it('that starts a service with given posts loads neither LMDB nor the generator of posts', async () => {
    const { packages, files } = await loadedBy(
      script(firstAnswer("{ posts: [{ text: 'coffee' }] }")),
    );
    expect(files).toContain('service/index.js');
    expect(files).not.toContain('service/sample/sample-archive.js');
    expect(packages).not.toContain('lmdb');
  });

  it('that starts a service with generated posts loads no LMDB before the first response', async () => {
    const { packages, files } = await loadedBy(script(firstAnswer('{}')));
    expect(files).toContain('service/sample/sample-archive.js');
    expect(packages).not.toContain('lmdb');
  });
});

function firstAnswer(options: string): string {
  return `
    import { createService } from ${moduleOf('service/index.js')};
    const service = createService(${options});
    const { baseUrl, email, password } = await service.start();
    const answer = await fetch(
      baseUrl + '/search/30day/accounts/local/dev.json?query=coffee&maxResults=10',
      { headers: { authorization: 'Basic ' + btoa(email + ':' + password) } },
    );
    if (!answer.ok) throw new Error(await answer.text());
    await answer.text();
    await service.stop();
  `;
}
