import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { environmentOf } from '../../../src/service/account-variables.js';
import { createService, type Service } from '../../../src/service/index.js';
import { type Ended, outputOf, spawn } from '../../child-processes.js';
import { compiled } from '../../compiled.js';
import { pageNamed, tableOf } from '../../pages.js';
import { ScriptRunner } from '../../script-runner.js';
import { temporaryFolder } from '../../temporary-folder.js';

const CLI = compiled(path.resolve(import.meta.dirname, '../../../src/service/cli.ts'));

let service: Service;
let differing: Service;
let env: NodeJS.ProcessEnv;
let envOfDiffering: NodeJS.ProcessEnv;

beforeAll(async () => {
  const options = { limits: 'relaxed', postsPerMinute: 0.05 } as const;
  service = createService(options);
  env = environmentOf(await service.start());
  differing = createService({ ...options, countsOrder: 'descending' });
  envOfDiffering = environmentOf(await differing.start());
});
afterAll(async () => {
  await service.stop();
  await differing.stop();
});

const scripts = new ScriptRunner();

function check(variables: NodeJS.ProcessEnv, ...args: readonly string[]): Promise<Ended> {
  const env = { PATH: process.env.PATH, ...variables };
  return scripts.run({ script: CLI, args: ['check', ...args], cwd: process.cwd(), env });
}

/** Runs the command in a separate process, so that Node also parses the flags. */
function checkAlone(variables: NodeJS.ProcessEnv, ...args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, [CLI, 'check', ...args], {
    env: { PATH: process.env.PATH, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return outputOf(child);
}

describe('millrace-service check', () => {
  it.concurrent('announces its requests, and exits with 0 if the service conforms', async () => {
    const { code, stdout, stderr } = await check(env);
    expect(stderr).toBe(
      `43 requests to ${env.MILLRACE_URL}, which change nothing: 8 of search and counts that are answered, and may count against a cap, with 20 posts at most.\n`,
    );
    const lines = stdout.trim().split('\n');
    expect(lines.filter(line => line.startsWith('ok '))).toHaveLength(43);
    expect(lines.at(-1)).toBe('43 checks, all as documented.');
    expect(code).toBe(0);
  });

  it.concurrent('exits with 1 and an explanation if the service does not conform', async () => {
    const { code, stdout } = await check(envOfDiffering, '--only', 'search, fullarchive');
    expect(code).toBe(1);
    expect(stdout).toContain(
      'differs   search       counts by minute\n    body results[1]\n      expected  a whole count of 20',
    );
    expect(stdout).toMatch(/ {6}rule {6}Counts are .* for each minute, in ascending order\.\n/);
    expect(stdout).toMatch(/\n2 of 28 checks differ\.\n$/);
  });

  it.concurrent('keeps its exit code when the reader of its output closes the pipe', async () => {
    const child = spawn(process.execPath, [CLI, 'check'], {
      env: { PATH: process.env.PATH, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout?.destroy();
    const ended = once(child, 'close');
    expect(await text(child.stderr as Readable)).toMatch(/^43 requests .*\n$/);
    expect(await ended).toEqual([0, null]);
  });

  it.concurrent('prints its results as one JSON object with --json', async () => {
    const { code, stdout } = await check(envOfDiffering, '--json', '--only=search');
    expect(code).toBe(1);
    const report = JSON.parse(stdout);
    expect(report).toMatchObject({
      requests: 25,
      searches: 6,
      posts: 20,
      differing: 1,
      skipped: [],
    });
    expect(report.checks).toHaveLength(25);
    const [wrong] = report.checks.filter(({ result }: { result: string }) => result === 'differs');
    expect(wrong).toMatchObject({
      name: 'counts by minute',
      family: 'search',
      differences: [{ what: 'body results[1]' }],
    });
  });

  it.concurrent('sends nothing to another machine unless the user answers yes', async () => {
    const other = { ...env, MILLRACE_URL: 'https://service.invalid' };
    const unasked = await check(other);
    expect(unasked).toMatchObject({ code: 2, stdout: '' });
    expect(unasked.stderr).toContain('43 requests to https://service.invalid,');
    expect(unasked.stderr).toContain(
      'The account is not on this machine: to send requests to it, pass --yes',
    );
    // The confirmation is required even if only one address is remote.
    const partly = await check({ ...env, MILLRACE_RULES_URL: 'https://service.invalid' });
    expect(partly).toMatchObject({ code: 2, stdout: '' });
    const confirmed = await check(other, '--yes');
    expect(confirmed).toMatchObject({ code: 3, stdout: '' });
    expect(confirmed.stderr).toContain('service.invalid');
  });

  it.concurrent('exits with 3 if no server listens', async () => {
    const { code, stdout, stderr } = await check({ ...env, MILLRACE_URL: 'http://127.0.0.1:1' });
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toMatch(/127\.0\.0\.1:1/);
    expect(stderr).not.toContain('    at ');
  });

  it.concurrent('exits with 2 for a wrong password, without showing it', async () => {
    const { code, stderr } = await check({ ...env, MILLRACE_PASSWORD: 'mis-typed-word' });
    expect(code).toBe(2);
    expect(stderr).toContain(
      'Check MILLRACE_EMAIL and MILLRACE_PASSWORD; nothing else was checked',
    );
    expect(stderr).not.toContain('mis-typed-word');
  });

  it.concurrent.each([
    [['--only', 'serch'], /no family "serch"; did you mean search\?/],
    [['--onyl', 'search'], /did you mean --only\?/],
    [['now'], /takes no argument, got now/],
  ] as const)('refuses the arguments %j', async (args, problem) => {
    const { code, stderr } = await check(env, ...args);
    expect(code).toBe(2);
    expect(stderr).toMatch(problem);
  });

  it.concurrent('names the missing variables and the endpoint families that it skips', async () => {
    const nothing = await check({});
    expect(nothing.code).toBe(2);
    expect(nothing.stderr).toContain('MILLRACE_ACCOUNT');
    const { MILLRACE_PUBLISHER: _, ...some } = env;
    const { code, stderr } = await check(some, '--only', 'usage,jobs');
    expect(stderr).toContain('Without jobs: no publisher.');
    expect(stderr).toMatch(/^2 requests to /);
    expect(code).toBe(0);
  });

  it.concurrent('reads environment variables from a file', async () => {
    const file = path.join(await temporaryFolder(), 'acme.env');
    const lines = Object.entries(env).map(([name, value]) => `${name}='${value}'\n`);
    await writeFile(file, lines.join(''));
    expect(await checkAlone({}, '--env-file', file, '--only=usage')).toMatchObject({ code: 0 });
  });

  it.concurrent('fails if the file of environment variables does not exist', async () => {
    const { code, stdout, stderr } = await checkAlone(env, '--env-file', 'nowhere.env');
    // Node 20 parses `--env-file` itself, even after the script, and exits with 9.
    expect([2, 9]).toContain(code);
    expect(stdout).toBe('');
    expect(stderr).toContain('nowhere.env');
  });

  it.concurrent('explains its flags with the same words in its help and on its page', async () => {
    const { code, stdout } = await check({}, '--help');
    expect(code).toBe(0);
    const flags = [...stdout.matchAll(/^ {2}(--[a-z-]+)(?: \S+)? {2,}(.*)$/gm)];
    expect(flags.map(([, flag]) => flag)).toContain('--only');
    const heading = 'Comparing an account with the documentation';
    const rows = tableOf(pageNamed('src/service/README.md'), heading, 'Flag');
    expect(rows).toEqual(flags.map(([, flag, meaning]) => [`\`${flag}\``, meaning]));
  });
});
