import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { pipeline } from '../../src/flow/pipeline.js';
import { account } from '../../src/http/account.js';
import { SETTINGS, type SettingName, type UrlSettingName } from '../../src/http/settings.js';
import { search } from '../../src/search/search.js';
import { samplePosts } from '../../src/service/sample/sample-posts.js';
import { collect } from '../../src/sinks/collect.js';
import { BASH_ARGS, spawn } from '../child-processes.js';
import { compiled } from '../compiled.js';
import { ScriptRunner } from '../script-runner.js';
import { temporaryFolder } from '../temporary-folder.js';

const CLI = compiled(path.resolve(import.meta.dirname, '../../src/service/cli.ts'));

/** Variables that are removed from the environment, because npm may run the tests themselves. */
const NO_NPM = {
  npm_command: undefined,
  npm_lifecycle_event: undefined,
  npm_lifecycle_script: undefined,
};

const children: ChildProcess[] = [];

afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

function run(...args: string[]) {
  return runAs([CLI], args);
}

const scripts = new ScriptRunner();

function endOf(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const all = { ...process.env, ...NO_NPM, ...env };
  return scripts.run({ script: CLI, args, cwd: process.cwd(), env: all });
}

function runAs(command: readonly string[], args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, [...command, ...args], {
    env: { ...process.env, ...NO_NPM, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', chunk => {
    output.stdout += chunk;
  });
  child.stderr.on('data', chunk => {
    output.stderr += chunk;
  });
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, ...output }));
  return { child, ended, ready: once(child.stdout, 'data').then(([chunk]) => String(chunk)) };
}

describe('the command millrace-service', () => {
  it.concurrent('prints one line of JSON with snake_case names when it is ready', async () => {
    const { child, ended, ready } = run(
      ...['--json', '--seed', '5', '--account', 'acme', '--consumer-key', 'shop'],
      ...[
        '--callback-url',
        'oob',
        '--callback-url',
        'https://shop.example.com/',
        '--usage-cap',
        '5',
      ],
    );
    const addresses = JSON.parse(await ready);
    expect(addresses).toEqual({
      base_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      historical_url: addresses.base_url,
      replay_stream_url: addresses.base_url,
      rules_url: addresses.base_url,
      compliance_stream_url: addresses.base_url,
      account_api_url: addresses.base_url,
      oauth_url: addresses.base_url,
      data_url: addresses.base_url,
      console_url: `${addresses.base_url}/console`,
      status_url: `${addresses.base_url}/status`,
      local_service: 'seed=5&postsPerMinute=3.5&complianceRate=0',
      stream_label: 'replay',
      compliance_label: 'compliance',
      account: 'acme',
      label: 'dev',
      publisher: 'twitter',
      email: 'dev@example.com',
      password: 'local-service',
      consumer_key: 'shop',
      consumer_secret: 'local-application-secret',
      unapproved_consumer_key: 'unapproved-application',
      unapproved_consumer_secret: 'unapproved-application-secret',
    });
    const authorization = `Basic ${btoa(`${addresses.email}:${addresses.password}`)}`;
    const url = `${addresses.base_url}/search/30day/accounts/acme/dev.json?query=coffee&maxResults=10`;
    const response = await fetch(url, { headers: { authorization } });
    expect([response.status, response.headers.get('content-encoding')]).toEqual([200, 'gzip']);
    expect(await response.json()).toHaveProperty('results');
    child.kill('SIGTERM');
    const end = await ended;
    expect(end).toMatchObject({ code: 0, signal: null, stderr: '' });
    expect(end.stdout.trimEnd().split('\n')).toHaveLength(1);
  });

  it.concurrent('prints its URL and how to try it, and exits on Ctrl+C', async () => {
    const { child, ended, ready } = run('--limits', 'relaxed', '--no-control');
    const summary = await ready;
    expect(summary).toMatch(/base URL +http:\/\/127\.0\.0\.1:\d+\n/);
    expect(summary).toMatch(
      /console +http:\/\/127\.0\.0\.1:\d+\/console \(dev@example\.com, local-service\)\n/,
    );
    expect(summary).toMatch(/\n {2}export MILLRACE_URL='http:\/\/127\.0\.0\.1:\d+'\n/);
    const [, login = '', url = ''] = /curl -u '([^']+)' '([^']+)'/.exec(summary) ?? [];
    const tried = await fetch(url, { headers: { authorization: `Basic ${btoa(login)}` } });
    expect(((await tried.json()) as { results: unknown[] }).results).toHaveLength(10);
    const baseUrl = /http:\/\/127\.0\.0\.1:\d+/.exec(summary)?.[0];
    expect((await fetch(`${baseUrl}/_control/clock`)).status).toBe(404);
    // A pending request and an open connection must not delay the exit.
    const socket = net.connect(Number(new URL(String(baseUrl)).port), '127.0.0.1');
    socket.on('error', () => {});
    await once(socket, 'connect');
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  });

  it.concurrent('prints links with its token if it listens on every address, and exits on SIGTERM', async () => {
    const { child, ended, ready } = run('--host', '0.0.0.0');
    const summary = await ready;
    const [, link = '', token] =
      /console +(http:\S+\/console\/sign-in\?token=([\w-]{32}))\n/.exec(summary) ?? [];
    expect((await fetch(link, { redirect: 'manual' })).headers.get('refresh')).toBe(
      '0; url=/console',
    );
    const [, header = '', clock = ''] = /control +curl -H '(.*)' (\S+)\n/.exec(summary) ?? [];
    expect(header).toBe(`Authorization: Bearer ${token}`);
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(clock, { headers })).status).toBe(200);
    expect((await fetch(clock)).status).toBe(401);
    expect(summary).toContain('unless --password sets another');
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  });

  it.concurrent('generates a token if its environment contains an empty one, as in compose.yaml', async () => {
    const { child, ready } = runAs([CLI], ['--host', '0.0.0.0'], { MILLRACE_SERVICE_TOKEN: '' });
    expect(await ready).toMatch(/\/console\/sign-in\?token=[\w-]{32}\n/);
    child.kill('SIGTERM');
  });

  it.concurrent('uses the token in its environment, and does not print a default password', async () => {
    const env = { MILLRACE_SERVICE_TOKEN: 'a-token-of-our-own' };
    const args = ['--host', '0.0.0.0', '--password', 'own', '--no-control'];
    const { child, ready } = runAs([CLI], args, env);
    const summary = await ready;
    expect(summary).toContain('/console/sign-in?token=a-token-of-our-own\n');
    expect(summary).not.toMatch(/unless --password|_control/);
    child.kill('SIGTERM');
    const asOption = runAs([CLI], ['--json', '--token', 'x'.repeat(16)], env);
    expect(JSON.parse(await asOption.ready).token).toBe('x'.repeat(16));
    asOption.child.kill('SIGTERM');
  });

  it.concurrent('rejects a host of another machine and a weak token, without printing the token', async () => {
    const other = await endOf(['--host', '192.0.2.77']);
    expect(other).toMatchObject({ code: 2, stdout: '' });
    expect(other.stderr).toContain(
      'Cannot listen on 192.0.2.77, which is not an address of this machine',
    );
    const short = await endOf(['--host', '0.0.0.0', '--token', 'short']);
    expect(short.stderr).toContain('`token` must be at least 16 letters');
    expect(short.stderr).not.toContain('short');
  });

  it.concurrent('exits when the npm process that started it receives a SIGTERM', async ({
    expect,
  }) => {
    const folder = await temporaryFolder();
    const script = `"${process.execPath}" "${CLI}" --json`;
    await writeFile(
      path.join(folder, 'package.json'),
      JSON.stringify({ name: 'x', version: '1.0.0', scripts: { service: script } }),
    );
    const npm = spawn('npm', ['run', '--silent', 'service'], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'ignore'],
      // The process group is separate, so that a failed test leaves no process.
      detached: true,
    });
    try {
      const [line] = await once(npm.stdout, 'data');
      const { base_url: baseUrl } = JSON.parse(String(line));
      expect((await fetch(`${baseUrl}/status`)).status).toBe(200);
      npm.kill('SIGTERM');
      const answers = () =>
        fetch(`${baseUrl}/status`).then(
          () => true,
          () => false,
        );
      await expect.poll(answers).toBe(false);
    } finally {
      try {
        process.kill(-Number(npm.pid), 'SIGKILL');
      } catch {} // all processes have ended
    }
  });

  it.concurrent.each([
    [['--colour', 'red'], 'there is no flag --colour'],
    [['--arcive', 'downloads'], 'did you mean --archive?'],
    [['archive'], 'takes no argument, got archive'],
    [['--port', '8080', '--env', '--json'], '--env asks the service that runs at --port'],
    [['--port', 'http'], '`port` must be a whole number from 0 to 65535, got "http"'],
    [['--heartbeat-seconds', 'soon'], 'got "soon"'],
    [['--limits', 'none'], "'strict' or 'relaxed'"],
  ])('exits with 2 and the reason for %j', async (args, message) => {
    const end = await endOf(args);
    expect(end).toMatchObject({ code: 2, stdout: '' });
    expect(end.stderr).toContain(message);
    expect(end.stderr).not.toContain('    at ');
  });

  it.concurrent('exits with 2 if its port is in use', async () => {
    const server = net.createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as net.AddressInfo;
    const end = await endOf(['--port', String(port)]);
    server.close();
    expect(end).toMatchObject({ code: 2, stdout: '' });
    expect(end.stderr).toContain(`Port ${port} is in use`);
  });

  it.concurrent('exits with 1 and the reason if the folder does not exist', async () => {
    const end = await endOf(['--archive', '/no/such/folder', '--json']);
    expect(end).toMatchObject({ code: 1, stdout: '' });
    expect(end.stderr).toContain('/no/such/folder');
    expect(end.stderr).not.toContain('    at ');
  });

  it.concurrent('shows its options with their defaults', async () => {
    const end = await endOf(['--help']);
    expect(end).toMatchObject({ code: 0, stderr: '' });
    expect(end.stdout).toContain('--archive <folder>');
    expect(end.stdout).toMatch(/--heartbeat-seconds <seconds> .*\(default 10\)\n/);
    expect(end.stdout).not.toContain('local-service');
  });
});

describe('the variables printed by --env', () => {
  it.concurrent('describe the running service, whatever its options', async () => {
    const options = ['--posts-per-minute', '60', '--seed', 'one', '--limits', 'relaxed'];
    const { child, ready } = run('--json', '--account', 'acme', '--password', 'own', ...options);
    const { base_url: url, local_service: posts } = JSON.parse(await ready);
    const { stdout } = await endOf(['--env', '--port', new URL(url).port]);
    expect(posts).toBe('seed=one&postsPerMinute=60&complianceRate=0');
    expect(stdout).toContain(`export MILLRACE_LOCAL_SERVICE='${posts}'\n`);
    expect(stdout).toContain(`export MILLRACE_URL='${url}'\n`);
    expect(stdout).toContain("export MILLRACE_ACCOUNT='acme'\n");
    expect(stdout).toContain("export MILLRACE_PASSWORD='own'\n");
    expect(stdout).toContain("export MILLRACE_LIMITS='relaxed'\n");
    child.kill('SIGTERM');
  });

  it.concurrent('include every setting for all endpoints, as shell commands and in the format of --env-file', async () => {
    const folder = await temporaryFolder();
    const { child, ready } = run('--json', '--account', "it's", '--label', '$(x) `y`');
    const { base_url: url } = JSON.parse(await ready);
    const printed = await endOf(['--env', '--port', new URL(url).port]);
    expect(printed).toMatchObject({ code: 0, stderr: '' });
    const file = path.join(folder, 'service.env');
    await writeFile(file, printed.stdout);
    const print = 'process.stdout.write(JSON.stringify(process.env))';
    const fromFile = runAs([`--env-file=${file}`, '-e', print], []).ended;
    const shell = spawn(
      'bash',
      [...BASH_ARGS, `eval "$(cat '${file}')"; '${process.execPath}' -e '${print}'`],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    let fromShell = '';
    shell.stdout.on('data', chunk => {
      fromShell += chunk;
    });
    await once(shell, 'close');
    for (const text of [(await fromFile).stdout, fromShell]) {
      const acme = account({}, JSON.parse(text));
      expect(acme.settings).toMatchObject({ account: "it's", label: '$(x) `y`' });
      const query = { query: 'coffee', product: '30day', limit: 5 } as const;
      expect(await pipeline(search(acme, query), collect())).toHaveLength(5);
      for (const name of Object.keys(SETTINGS) as SettingName[])
        if (!NOT_OF_A_SERVICE.includes(name)) acme.need(name, 'scripts');
    }
    child.kill('SIGTERM');
  });

  it.concurrent('replace the addresses of another service in the environment', async () => {
    const addresses = Object.entries(SETTINGS).filter(([, { kind }]) => kind === 'url');
    const others = Object.fromEntries(
      addresses.map(([, { env }]) => [env, 'https://other.example']),
    );
    const given = {
      ...others,
      MILLRACE_LIMITS: 'relaxed',
      MILLRACE_INSECURE_ORIGINS: 'http://other.example',
    };
    const { child, ready } = runAs([CLI], [], given);
    const banner = await ready;
    const [, port = ''] = /MILLRACE_URL='.*:(\d+)'/.exec(banner) ?? [];
    const { stdout } = await endOf(['--env', '--port', port], given);
    for (const text of [banner, stdout]) {
      const lines = text.matchAll(/^ *export (MILLRACE_\w+)='(.*)'$/gm);
      const variables = Object.fromEntries([...lines].map(([, name, value]) => [name, value]));
      expect(variables).toMatchObject({ MILLRACE_LIMITS: '', MILLRACE_INSECURE_ORIGINS: '' });
      const { settings } = account({}, { ...others, ...variables });
      for (const [name] of addresses)
        expect(settings[name as UrlSettingName]?.hostname, name).toBe('127.0.0.1');
    }
    child.kill('SIGTERM');
  });

  it.concurrent('include the token of a service that has one, and allow http to its origin', async () => {
    const token = 'a-token-of-our-own';
    const { child, ready } = run('--json', '--host', '0.0.0.0', '--token', token);
    const { base_url: url } = JSON.parse(await ready);
    const at = ['--env', '--host', '0.0.0.0', '--port', new URL(url).port];
    const refused = await endOf(at);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain('--token');
    const { stdout } = await endOf(at, { MILLRACE_SERVICE_TOKEN: token });
    expect(stdout).toContain(`export MILLRACE_INSECURE_ORIGINS='${url}'\n`);
    expect(stdout).toContain(`export MILLRACE_URL='${url}'\n`);
    child.kill('SIGTERM');
  });

  it.concurrent('identify the archive, so that a checkpoint from another archive is not continued', async () => {
    const folder = await temporaryFolder();
    const [post] = samplePosts(Date.UTC(2026, 0, 1), { postsPerMinute: 60 });
    await writeFile(path.join(folder, 'posts.jsonl'), post?.raw ?? '');
    const { child, ready } = run('--json', '--archive', folder);
    const { base_url: url } = JSON.parse(await ready);
    const { stdout } = await endOf(['--env', '--port', new URL(url).port]);
    expect(stdout).toContain(`MILLRACE_LOCAL_SERVICE='archive=${encodeURIComponent(folder)}&`);
    child.kill('SIGTERM');
  });

  it.concurrent('are replaced by an error with advice if no service runs at the port', async () => {
    const server = createServer((_, response) => response.writeHead(404).end());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const port = String((server.address() as net.AddressInfo).port);
    const other = await endOf(['--env', '--port', port]);
    expect(other).toMatchObject({ code: 1, stdout: '' });
    expect(other.stderr).toContain(`No local service answers at http://127.0.0.1:${port}: 404`);
    expect(other.stderr).toContain('--no-control');
    server.closeAllConnections();
    await once(server.close(), 'close');
    const gone = await endOf(['--env', '--port', port]);
    expect(gone).toMatchObject({ code: 1, stdout: '' });
    expect(gone.stderr).toMatch(
      new RegExp(`No service runs at http://127.0.0.1:${port}.* Start it .* --port ${port}\n$`),
    );
  });

  it.concurrent.each([
    [['--env'], '--env needs the --port of the service'],
    [['--env', '--port', '8080', '--seed', 'one'], '--env asks the service that runs at --port'],
  ])('are not printed for the wrong arguments %j, which cause an error', async (args, message) => {
    const end = await endOf(args);
    expect(end).toMatchObject({ code: 2, stdout: '' });
    expect(end.stderr).toContain(message);
  });
});

describe('the installed command millrace-service', () => {
  it.concurrent.each([
    ['its name in the path', {}, 'Usage: millrace-service [options]'],
    ['npx', { npm_command: 'exec' }, 'Usage: npx millrace-service [options]'],
    [
      'a script of npm',
      {
        npm_command: 'run-script',
        npm_lifecycle_event: 'posts',
        npm_lifecycle_script: 'millrace-service --seed 3',
      },
      'Usage: npm run posts -- [options]',
    ],
  ])('shows in its help the way in which it was started: by %s', async (_name, env, usage) => {
    const folder = await temporaryFolder();
    const binary = path.join(folder, 'millrace-service');
    await symlink(CLI, binary);
    const end = await runAs([binary], ['--help'], env).ended;
    expect(end).toMatchObject({ code: 0, stderr: '' });
    expect(end.stdout).toContain(usage);
    expect(end.stdout).not.toContain('npm run service');
  });

  it.concurrent('prints the version of the package', async () => {
    const file = path.resolve(import.meta.dirname, '../../package.json');
    const { version } = JSON.parse(await readFile(file, 'utf8'));
    expect(await endOf(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n` });
  });
});

/**
 * Settings that do not come from a service. They come from a contract, from the sign-in of a user
 * or from the way in which a script is run.
 */
const NOT_OF_A_SERVICE: readonly SettingName[] = [
  'insecureOrigins',
  'shard',
  'accessToken',
  'accessTokenSecret',
  'searchesPerMinute',
  'engagementsPerMinute',
];

describe('`await using` on a service', () => {
  it.concurrent.each(['service', 'addresses'])(
    'stops the service at the end of the scope of the %s, and the process exits',
    async what => {
      const script = compiled(path.join(import.meta.dirname, 'service-to-leave.ts'));
      const child = spawn(process.execPath, [script, what], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      children.push(child);
      let stdout = '';
      child.stdout.on('data', chunk => {
        stdout += chunk;
      });
      expect(await once(child, 'close')).toEqual([0, null]);
      expect(stdout).toBe('true\nleft\n');
    },
  );
});
