import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import net, { type AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Ended, outputOf, spawn } from './child-processes.js';
import { packedProject } from './packed-project.js';
import { blocksOf, pageNamed, root } from './pages.js';

type Instruction = readonly [name: string, value: string];

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly image: string;
        readonly build?: { readonly context: string; readonly dockerfile: string };
        readonly ports?: readonly string[];
        readonly environment: Readonly<Record<string, string>>;
        readonly volumes?: readonly string[];
        readonly depends_on?: unknown;
        readonly entrypoint?: readonly string[];
        readonly command?: readonly string[];
      }
    >
  >;
  readonly volumes: object;
}

const docker = path.join(root, 'examples/docker');
const instructions: readonly Instruction[] = (
  await readFile(path.join(docker, 'Dockerfile'), 'utf8')
)
  .split('\n')
  .filter(line => line !== '' && !line.startsWith('#'))
  .map(line => [line.split(' ')[0] ?? '', line.slice(line.indexOf(' ') + 1)]);
const compose: Compose = parse(await readFile(path.join(docker, 'compose.yaml'), 'utf8'));

const image = instructions.slice(instructions.findLastIndex(([name]) => name === 'FROM'));
const instruction = (wanted: string) => image.find(([name]) => name === wanted)?.[1] ?? '';
const wordsOf = (wanted: string): string[] =>
  JSON.parse(instruction(wanted).replace(/^.*? CMD /, ''));

let folder: string;
/** A folder that replaces `/app` of the image. The package is in its `node_modules`. */
let project: string;
let port: number;
const children: ChildProcess[] = [];

beforeAll(async () => {
  ({ folder, project } = await packedProject());
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

function here(words: readonly string[]): string[] {
  return words.map(word =>
    word.replaceAll('8080', String(port)).replace(/^\/state$/, path.join(folder, 'state')),
  );
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

function start(words: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const [, ...args] = here(words);
  const child = spawn(process.execPath, args, {
    cwd: project,
    env: { PATH: process.env.PATH, ...env },
  });
  children.push(child);
  return { child, ended: outputOf(child) };
}

const healthCheck = (): Promise<Ended> => start(wordsOf('HEALTHCHECK')).ended;

describe('the Docker image', () => {
  it('is based on node:24-slim, and installs the package that a clone of the repository packs', () => {
    const bases = instructions.filter(([name]) => name === 'FROM').map(([, value]) => value);
    expect(bases).toEqual(['node:24-slim AS pack', 'node:24-slim AS install', 'node:24-slim']);
    const runs = instructions.filter(([name]) => name === 'RUN').map(([, value]) => value);
    expect(runs[0]).toMatch(/npm ci .*&& npm pack .*--pack-destination \/packed$/);
    expect(runs[1]).toMatch(/npm install .*\/packed\/\*\.tgz$/);
  });

  it('runs as the user node, who owns the volume for the state', () => {
    const names = image.map(([name]) => name);
    expect(instruction('USER')).toBe('node');
    expect(names.indexOf('USER')).toBeLessThan(names.indexOf('ENTRYPOINT'));
    expect(instruction('RUN')).toBe('mkdir /state && chown node:node /state');
    expect(instruction('VOLUME')).toBe('/state');
    expect(wordsOf('ENTRYPOINT').slice(-2)).toEqual(['--state', '/state']);
    expect(instruction('EXPOSE')).toBe('8080');
  });

  it('reports healthy once the service answers, and keeps its state across restarts', async () => {
    port = await freePort();
    expect((await healthCheck()).code).toBe(1);
    const words = [...wordsOf('ENTRYPOINT'), ...wordsOf('CMD')];
    expect(words[0]).toBe('node');
    const rules = `http://127.0.0.1:${port}/rules/rulestream-replay/accounts/local/publishers/twitter/replay.json`;
    const authorization = `Basic ${btoa('dev@example.com:local-service')}`;
    const ids: unknown[] = [];
    for (const method of ['POST', 'GET']) {
      const { child, ended } = start(words);
      await expect.poll(async () => (await healthCheck()).code, { timeout: 30_000 }).toBe(0);
      const clock = `http://127.0.0.1:${port}/_control/clock`;
      expect((await fetch(clock)).status).toBe(401);
      const body = method === 'POST' ? '{"rules":[{"value":"snow"}]}' : undefined;
      await fetch(rules, { method, headers: { authorization }, ...(body && { body }) });
      const listed = await fetch(rules, { headers: { authorization } });
      ids.push(((await listed.json()) as { rules: readonly { id: unknown }[] }).rules[0]?.id);
      child.kill('SIGTERM');
      const { code, stdout, stderr } = await ended;
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/console +http:\S+\/console\/sign-in\?token=[\w-]{32}\n/);
    }
    expect(ids).toEqual([expect.any(Number), ids[0]]);
    expect((await healthCheck()).code).toBe(1);
  });
});

describe('compose.yaml', () => {
  it('builds the image', () => {
    const { context = '', dockerfile = '' } = compose.services.millrace?.build ?? {};
    expect(path.resolve(docker, context)).toBe(root);
    expect(path.resolve(root, dockerfile)).toBe(path.join(docker, 'Dockerfile'));
  });

  it('publishes its port on this machine only', () => {
    expect(compose.services.millrace?.ports).toEqual(['127.0.0.1:8080:8080']);
  });

  it('keeps the state in a volume', () => {
    expect(compose.services.millrace?.volumes).toEqual(['state:/state']);
    expect(Object.keys(compose.volumes)).toEqual(['state']);
  });

  it('starts the search once the service is healthy', () => {
    expect(compose.services.search?.depends_on).toEqual({
      millrace: { condition: 'service_healthy' },
    });
  });

  it('sets the origin of the service in the environment of the search', async () => {
    port = await freePort();
    const words = [...wordsOf('ENTRYPOINT'), ...wordsOf('CMD')];
    const { child, ended } = start(words, { MILLRACE_SERVICE_TOKEN: '' });
    const [chunk] = await once(child.stdout, 'data');
    const { origin } = new URL(/base URL +(\S+)/.exec(String(chunk))?.[1] ?? '');
    const { environment = {}, entrypoint = [], command = [] } = compose.services.search ?? {};
    expect(environment.MILLRACE_URL).toBe('http://millrace:8080');
    const env = Object.fromEntries(
      Object.entries(environment).map(([name, value]) => [
        name,
        value.replace('http://millrace:8080', origin),
      ]),
    );
    const found = await start([...entrypoint, ...command], env).ended;
    expect(found.code, found.stderr).toBe(0);
    expect(found.stdout.trim().split('\n')).toHaveLength(10);
    const { MILLRACE_INSECURE_ORIGINS, ...others } = env;
    expect(MILLRACE_INSECURE_ORIGINS).toBe(origin);
    if (!origin.includes('127.0.0.1')) {
      const refused = await start([...entrypoint, ...command], others).ended;
      expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('must be https') });
    }
    child.kill('SIGTERM');
    expect((await ended).code).toBe(0);
  });
});

/**
 * A script that replaces the testcontainers package. It starts the entry point of the image as a
 * process.
 */
const TESTCONTAINERS = `
import processes from 'node:child_process';
import { once } from 'node:events';
const [command, ...args] = JSON.parse(process.env.ENTRY_POINT);
export const Wait = { forHttp: (path, port) => ({ path, port }) };
export class GenericContainer {
  constructor(image) { if (image !== 'millrace') throw new Error('No image ' + image); }
  withEnvironment(variables) { this.variables = variables; return this; }
  withExposedPorts(port) { this.port = port; return this; }
  withWaitStrategy(wait) { this.wait = wait; return this; }
  async start() {
    const inner = 8080;
    if (this.port !== inner || this.wait.port !== inner) throw new Error('Nothing listens there');
    const child = processes.spawn(process.execPath, args, { env: this.variables, stdio: 'inherit' });
    const port = Number(process.env.PORT);
    for (let ready = false; !ready; await new Promise(done => setTimeout(done, 50)))
      ready = await fetch('http://127.0.0.1:' + port + this.wait.path).then(({ ok }) => ok, () => false);
    return {
      getHost: () => 'localhost',
      getMappedPort: () => port,
      async stop() { child.kill('SIGTERM'); await once(child, 'exit'); },
    };
  }
}`;

describe('the script for Testcontainers', () => {
  it('plants a fault with the control token, and receives posts from the service', async () => {
    port = await freePort();
    const [script = ''] = blocksOf(pageNamed('examples/testcontainers.md'), 'js');
    const stub = path.join(project, 'node_modules/testcontainers');
    await mkdir(stub, { recursive: true });
    await writeFile(
      path.join(stub, 'package.json'),
      '{ "type": "module", "exports": "./index.js" }',
    );
    await writeFile(path.join(stub, 'index.js'), TESTCONTAINERS);
    await writeFile(path.join(project, 'containers.mjs'), script);
    const env = {
      PORT: String(port),
      ENTRY_POINT: JSON.stringify(here([...wordsOf('ENTRYPOINT'), '--json'])),
    };
    const { code, stdout, stderr } = await start(['node', 'containers.mjs'], env).ended;
    expect(code, stderr).toBe(0);
    expect(stdout).toContain('20 posts, after one 503\n');
  });
});
