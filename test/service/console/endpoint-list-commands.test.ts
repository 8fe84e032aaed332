import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { transform } from 'esbuild';
import * as millrace from 'millrace';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { floorTo, HOUR, MINUTE } from '../../../src/base/time.js';
import { environmentOf, exportLines } from '../../../src/service/account-variables.js';
import { listedEndpoints } from '../../../src/service/console/endpoint-list.js';
import { type Addresses, createService, type Service } from '../../../src/service/index.js';
import { BASH_ARGS } from '../../child-processes.js';
import { MemoryArchive, originalPost } from '../memory-archive.js';

const run = promisify(execFile);
const hasCurl = spawnSync('curl', ['--version']).status === 0;

let service: Service;
let addresses: Addresses;
let environment: Record<string, string>;

beforeEach(async () => {
  const now = Date.now();
  const posts = Array.from({ length: 40 }, (_, i) =>
    originalPost(floorTo(MINUTE, now) - i * HOUR, String(10n ** 18n - BigInt(i)), 'coffee'),
  );
  service = createService({
    archive: new MemoryArchive(posts),
    limits: 'relaxed',
    account: `it's "mine"`,
    label: 'a b&c',
    streamLabel: '$(replay)',
    complianceLabel: '`x`',
    email: `o'brien@example.com`,
    password: `pass'word"`,
  });
  addresses = await service.start();
  const script = `${exportLines(environmentOf(addresses))}\nenv -0`;
  const shell = spawnSync('bash', [...BASH_ARGS, script], { env: { PATH: process.env.PATH } });
  expect(String(shell.stderr)).toBe('');
  const lines = String(shell.stdout).split('\0');
  environment = Object.fromEntries(
    lines.flatMap(line => {
      const [, name, value] = /(?:^|\n)(MILLRACE_\w+)=([\s\S]*)$/.exec(line) ?? [];
      return name === undefined || value === undefined ? [] : [[name, value]];
    }),
  );
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await service.stop();
});

describe('the commands that the console shows', () => {
  it('set every environment variable of the library, even if its value is unusual', () => {
    expect(environment).toMatchObject({
      MILLRACE_ACCOUNT: addresses.account,
      MILLRACE_LABEL: addresses.label,
      MILLRACE_EMAIL: addresses.email,
      MILLRACE_PASSWORD: addresses.password,
    });
    expect(environment).toMatchObject({ MILLRACE_CONSUMER_SECRET: addresses.consumerSecret });
  });

  it.skipIf(!hasCurl)(
    'start with a command that finds posts without environment variables (needs curl)',
    async () => {
      const command = `${await service.firstCommand()} -s`;
      const { stdout } = await run('bash', [...BASH_ARGS, command], {
        env: { PATH: process.env.PATH },
      });
      expect(JSON.parse(stdout).results).toHaveLength(10);
    },
  );

  it.skipIf(!hasCurl)('succeed in a shell with curl (needs curl)', async () => {
    // The first of these commands needs rules, and the second never ends.
    const others = ['Replay of what matches the rules', 'Compliance events'];
    const all = endpoints().filter(({ name, curl }) => curl && !others.includes(name));
    // All commands run concurrently in one shell. On a busy machine, running one after the other
    // takes minutes.
    const commands = all.map(
      ({ name, curl }) => `(${curl} -s -o /dev/null -w '%{http_code} ${name}\\n') &`,
    );
    const { stdout } = await run('bash', [...BASH_ARGS, [...commands, 'wait'].join('\n')], {
      env: { PATH: process.env.PATH, ...environment },
    });
    const worked = stdout.trimEnd().split('\n');
    const names = worked.map(line => line.slice('200 '.length));
    expect(names.toSorted()).toEqual(all.map(({ name }) => name).toSorted());
    expect(worked.filter(line => !/^20[01] /.test(line))).toEqual([]);
  });

  it('succeed as millrace commands', async () => {
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    const all = endpoints();
    const order = (name: string) => (name === 'Add rules' ? 0 : 1);
    const worked: string[] = [];
    for (const { name, millrace } of all.toSorted((a, b) => order(a.name) - order(b.name))) {
      // These examples wait for a user or never end.
      if (/Sign-in|totals|Compliance events/.test(name)) continue;
      const said = await runScript(scriptOf(millrace));
      if (!/Replay/.test(name)) expect([name, said.length]).not.toEqual([name, 0]);
      worked.push(name);
    }
    expect(worked.length).toBe(all.length - 3);
  });

  it('print the status of the job that they create', async () => {
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    const { millrace } = endpoints().find(({ name }) => name === 'Make a job')!;
    expect(await runScript(scriptOf(millrace))).toEqual(['opened', expect.any(String)]);
  });

  it('send the same requests as their TypeScript versions', async () => {
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    for (const { name, millrace, typescript } of endpoints()) {
      expect([name, typescript]).toEqual([name, scriptOf(millrace)]);
      const { code, warnings } = await transform(typescript, { loader: 'ts', format: 'esm' });
      expect([name, warnings]).toEqual([name, []]);
      if (name === 'Posts, the last 30 days') {
        const script = code.replace(
          /^import \{ ([^}]*) \} from "millrace";/,
          (_, names) => `import { ${names.trim()} } from "millrace";`,
        );
        expect(await runScript(script)).not.toEqual([]);
      }
    }
  });

  it('use only exports of the library in TypeScript', () => {
    for (const { millrace } of endpoints()) namesIn(scriptOf(millrace));
  });
});

function endpoints() {
  return listedEndpoints(addresses, service.clock.now());
}

/** Returns the script that the shell command passes to Node. */
function scriptOf(command: string): string {
  const node = 'node() { printf %s "$3"; }';
  const { stdout, stderr } = spawnSync('bash', [...BASH_ARGS, `${node}\n${command}`], {
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  return stdout.slice(stdout.indexOf('import {'));
}

function namesIn(script: string): string[] {
  const [, list = ''] = /^import \{ (.*) \} from "millrace";\n/.exec(script) ?? [];
  const names = list.split(', ');
  for (const name of names) expect(millrace).toHaveProperty(name);
  for (const [, name = '', member = ''] of script.matchAll(/\b(\w+)\.(\w+)\(/g))
    if (names.includes(name)) expect(millrace).toHaveProperty([name, member]);
  return names;
}

async function runScript(script: string): Promise<unknown[]> {
  const said: unknown[] = [];
  const say = (...values: unknown[]) => said.push(...values);
  const own: Record<string, unknown> = {
    ...millrace,
    stdout: () => async (input: AsyncIterable<unknown>) => {
      for await (const one of input) say(one);
    },
    chart: () => async (input: AsyncIterable<unknown>) => {
      for await (const one of input) say(one);
    },
  };
  const names = namesIn(script);
  const body = script.slice(script.indexOf('\n'));
  const make = new Function('console', ...names, `return (async () => {${body}\n})()`);
  await make({ log: say }, ...names.map(name => own[name]));
  return said;
}
