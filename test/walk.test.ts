// The first minutes of a new user. Runs the commands and scripts of the README in order, in an
// empty project. In the nightly suite, also runs those on the pages to which the README links.
// `snippets.test.ts` runs the scripts of all pages, and `package.test.ts` installs the packed
// package.
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { beforeAll, expect, it } from 'vitest';
import { BASH_ARGS, outputOf, spawn } from './child-processes.js';
import { compiled } from './compiled.js';
import { blocksOf, pageNamed, root } from './pages.js';
import { isNightly } from './suite.js';
import { temporaryFolder } from './temporary-folder.js';

const readme = pageNamed('README.md');
const commands = blocksOf(readme, 'sh');
const commandWith = (text: string) => commands.find(command => command.includes(text)) ?? '';
const scriptOf = (page: string) => blocksOf(pageNamed(page), 'ts')[0] ?? '';

let project: string;
let port: number;

beforeAll(async () => {
  project = await temporaryFolder();
  const commands = path.join(project, 'node_modules/.bin');
  await mkdir(commands, { recursive: true });
  await symlink(compiled(root), path.join(project, 'node_modules/millrace'));
  const cli = compiled(path.join(root, 'src/service/cli.ts'));
  await chmod(cli, 0o755);
  await symlink(cli, path.join(commands, 'millrace-service'));
  const command = compiled(path.join(root, 'src/command/millrace.ts'));
  await chmod(command, 0o755);
  await symlink(command, path.join(commands, 'millrace'));
  const modules = path.join(root, 'node_modules');
  await symlink(path.join(modules, 'tsx'), path.join(project, 'node_modules/tsx'));
  await symlink(path.join(modules, '.bin/tsx'), path.join(commands, 'tsx'));
  // Replaces `npx` with a script that starts installed commands directly, because `npx` takes a
  // second for each call. `package.test.ts` tests the real `npx`.
  const npx = path.join(project, 'bin/npx');
  await mkdir(path.dirname(npx));
  const script = 'command=$1; shift; exec env npm_command=exec "node_modules/.bin/$command" "$@"';
  await writeFile(npx, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  await writeFile(path.join(project, 'package.json'), '{ "name": "walk", "type": "commonjs" }');
  port = await freePort();
});

/**
 * Returns a port that the system assigns to no other test. The system assigns only ports above
 * 32,767.
 */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    await new Promise(resolve => server.close(resolve));
    return port;
  }
}

function shell(command: string) {
  const { PATH = '', HOME = '' } = process.env;
  const text = command.replaceAll('8080', String(port));
  const programs = [path.join(project, 'bin'), PATH].join(path.delimiter);
  return spawn('bash', [...BASH_ARGS, text], {
    cwd: project,
    env: { PATH: programs, HOME, TMPDIR: project },
  });
}

async function printed(command: string): Promise<string> {
  const { code, stdout, stderr } = await outputOf(shell(command));
  expect(code, stderr).toBe(0);
  return stdout;
}

async function killAfter(file: string, command: string): Promise<void> {
  const child = shell(command);
  const ended = outputOf(child);
  while (!existsSync(path.join(project, file))) {
    expect(child.exitCode).toBeNull();
    await setTimeout(20);
  }
  process.kill(-(child.pid as number), 'SIGKILL');
  expect(await ended).toMatchObject({ signal: 'SIGKILL' });
}

async function idsIn(output: string): Promise<readonly string[]> {
  const below = path.join(project, output);
  const names = (await readdir(below)).filter(name => name.includes('.jsonl'));
  const texts = names.map(async name => {
    const bytes = await readFile(path.join(below, name));
    return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
  });
  const lines = (await Promise.all(texts)).join('').trim().split('\n');
  return lines.map(line => JSON.parse(line).id_str);
}

// This limit only detects hangs. With a load of 12, the 20,000 posts took two minutes.
it('a reader can follow the README and the pages it links from the first command to posts in files', {
  timeout: 900_000,
}, async () => {
  expect(commandWith('npm install')).toBe('npm install millrace tsx\n');

  const service = shell(`exec ${commandWith('--posts-per-minute')} --compliance-rate 0.2`);
  let banner = '';
  service.stdout.setEncoding('utf8');
  for await (const text of service.stdout) {
    banner += text;
    if (banner.includes('Ctrl+C ends it.')) break;
  }
  expect(banner).toContain(`export MILLRACE_URL='http://127.0.0.1:${port}'`);

  await writeFile(path.join(project, 'search.mts'), scriptOf('README.md'));
  const search = commandWith('eval');
  expect(search).toContain('npx tsx search.mts');
  await killAfter('out/search/checkpoint.json', search);
  const environment = search.replace(/^npx tsx.*$/m, '');
  const rerun = commands.find(command => command.startsWith('npx tsx')) ?? '';
  const again = `${environment}\n${rerun}`;
  expect(await printed(again)).toMatch(/^20000 posts in \d files\n$/);
  const ids = await idsIn('out/search');
  expect(ids.length).toBe(20_000);
  expect(new Set(ids).size).toBe(20_000);

  expect(await printed(again)).toMatch(/^20000 posts in \d files\n$/);

  const run = async (page: string) => {
    expect(readme.text).toContain(`](${page})`);
    await writeFile(path.join(project, 'page.mts'), scriptOf(page));
    return printed(`${environment}\nnpx tsx page.mts`);
  };
  const command = await printed(`${environment}\n${commandWith('npx millrace counts')}`);
  expect(command).toMatch(/\d{12} to \d{12}, a bucket a column|"timePeriod"/);
  expect((await idsIn('out/command')).length).toBe(500);
  if (isNightly) {
    expect(await run('src/jobs/README.md')).toContain('nothing is missing');
    expect((await idsIn('out/snow')).length).toBeGreaterThan(0);
    expect(await run('src/replay/README.md')).toMatch(/^[1-9]\d* posts, every minute confirmed\n$/);
    expect((await idsIn('out/replay')).length).toBeGreaterThan(0);
    expect(await run('src/compliance/README.md')).toMatch(/^[1-3] posts and users\n$/);
  }

  const variablesOf = (text: string) =>
    [...text.matchAll(/export (MILLRACE_\w+=\S+)/g)].map(match => match[1]!);
  const exported = await printed(environment.replace(/eval "\$\((.*)\)"/, '$1'));
  expect(variablesOf(exported)).toEqual(variablesOf(banner));
  service.kill('SIGTERM');
});
