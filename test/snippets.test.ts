import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { transform } from 'esbuild';
import { type Addresses, createService, type ServiceOptions } from 'millrace/service';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { SETTINGS, type SettingName } from '../src/http/settings.js';
import { BASH_ARGS, type Ended, outputOf, spawn } from './child-processes.js';
import { compiled } from './compiled.js';
import { hasNatsServer, INSTALL, startNode } from './jetstream/nats-server.js';
import { blocksOf, namesIn, pageNamed, pages, root, tableOf } from './pages.js';
import { programOf } from './public-api.js';
import { ScriptRunner } from './script-runner.js';
import { isEveryday } from './suite.js';
import { temporaryFolder } from './temporary-folder.js';

const examples = await Promise.all(
  (await readdir(path.join(root, 'examples')))
    .filter(name => name.endsWith('.ts'))
    .map(name => readFile(path.join(root, 'examples', name), 'utf8')),
);

interface Script {
  readonly name: string;
  readonly page: string;
  readonly text: string;
}

/**
 * Returns the scripts that a reader would run: the code blocks of a page in order, except for
 * blocks that belong to an example. If a block imports a name again, it starts a new script.
 */
function scriptsOf(page: (typeof pages)[number]): Script[] {
  const scripts: string[][] = [];
  let imported = new Set<string>();
  for (const block of blocksOf(page, 'ts')) {
    if (examples.some(example => example.includes(block))) continue;
    const names = importsOf(block);
    if (scripts.length === 0 || names.some(name => imported.has(name))) {
      scripts.push([]);
      imported = new Set();
    }
    for (const name of names) imported.add(name);
    scripts.at(-1)?.push(block);
  }
  return scripts.map((blocks, index) => ({
    name: `${page.name}, script ${index + 1}`,
    page: page.name,
    text: blocks.join('\n'),
  }));
}

function importsOf(block: string): string[] {
  const clauses = [...block.matchAll(/^import \{([^}]*)\} from/gm)];
  return clauses.flatMap(([, names = '']) => names.split(',').map(name => name.trim()));
}

const scripts = pages.flatMap(scriptsOf);

/** The options of the service that `account()` uses on a page, if it is not the default service. */
const SERVICES: Readonly<Record<string, ServiceOptions>> = {
  'src/compliance/README.md': { postsPerMinute: 200, complianceRate: 1 },
  'src/jobs/README.md': { jobDollarsPerDay: 100, jobDwellMs: 50 },
  'src/replay/README.md': { postsPerMinute: 20 },
};

function environmentOf(addresses: Addresses): Record<string, string> {
  const names = Object.keys(SETTINGS) as SettingName[];
  return Object.fromEntries(
    names
      .filter(name => name in addresses)
      .map(name => [SETTINGS[name].env, String(addresses[name as keyof Addresses])]),
  );
}

function run(command: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<Ended> {
  const [file = '', ...args] = command;
  const child = spawn(file, args, { cwd, env: { ...process.env, ...env } });
  return outputOf(child);
}

describe('the code snippets on the documentation pages', () => {
  it('include more than ten scripts', () => {
    expect(scripts.length).toBeGreaterThan(10);
  });

  it('compile without errors', () => {
    const texts = new Map(
      scripts.map(({ text }, index) => [
        path.join(root, 'examples', `page-${index}.ts`),
        `${text}\nexport {};\n`,
      ]),
    );
    const program = programOf([], texts);
    const problems = [...texts.keys()].flatMap((name, index) => {
      const source = program.getSourceFile(name) as ts.SourceFile;
      return [
        ...program.getSyntacticDiagnostics(source),
        ...program.getSemanticDiagnostics(source),
      ].map(({ messageText, start = 0 }) => {
        const line = source.text.slice(0, start).split('\n').length - 1;
        const shown = source.text.split('\n')[line]?.trim();
        return `${scripts[index]?.name}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}: ${shown}`;
      });
    });
    expect(problems).toEqual([]);
  });

  const runs = isEveryday ? scripts.filter(({ page }) => page === 'README.md') : scripts;
  const runner = new ScriptRunner();
  it.for(runs)('run without errors: $name', async ({ page, text }, { skip }) => {
    const needsNats = text.includes("'millrace/jetstream'");
    if (needsNats && !hasNatsServer) skip(INSTALL);
    await using node = needsNats ? await startNode() : undefined;
    await using service = createService({
      limits: 'relaxed',
      postsPerMinute: 1,
      ...SERVICES[page],
    });
    const env: Record<string, string | undefined> = {
      ...environmentOf(await service.start()),
      ...(node && { NATS_URL: node.url }),
    };
    const folder = await temporaryFolder();
    // Writes the script to the folder of the compiled sources, in which it finds the library and
    // the packages.
    const script = compiled(path.join(root, 'examples', `${path.basename(folder)}.ts`));
    const { code } = await transform(text, { loader: 'ts', target: 'node20.18' });
    await writeFile(script, code);
    const ended = await runner.run({ script, cwd: folder, env: { ...process.env, ...env } });
    expect(ended, ended.stderr).toMatchObject({ code: 0 });
    expect(ended.stderr).not.toContain(env.MILLRACE_PASSWORD);
  });
});

describe('the shell commands on the documentation pages', () => {
  const commands = pages.flatMap(page => blocksOf(page, 'sh'));
  const cli = compiled(path.join(root, 'src/service/cli.ts'));

  it('use only npm scripts, environment variables and commands that exist', () => {
    const settings = Object.values(SETTINGS).map(({ env }) => env as string);
    for (const command of commands) {
      for (const [, script = ''] of command.matchAll(/\bnpm run ([\w:-]+)/g))
        expect(Object.keys(manifest.scripts)).toContain(script);
      for (const [, variable = ''] of command.matchAll(/\b(MILLRACE_\w+)=/g))
        expect(settings).toContain(variable);
      for (const [, binary = ''] of command.matchAll(/\bnpx (millrace[\w-]*)/g))
        expect(Object.keys(manifest.bin)).toContain(binary);
    }
  });

  it('pass only options of the local service that exist and are documented', async () => {
    const { stdout } = await run([process.execPath, cli, '--help'], root, {});
    const help = [...stdout.matchAll(/^ {2}(--.{30})/gm)].flatMap(
      ([, flags]) => flags?.match(/--[a-z-]+/g) ?? [],
    );
    const page = pageNamed('src/service/README.md');
    const table = tableOf(page, 'Options', 'Option').flatMap(row => namesIn(row[1]));
    expect([...new Set(help)].toSorted()).toEqual(table.toSorted());
    for (const command of commands)
      for (const [line] of command.matchAll(/^npx millrace-service[^#\n]*/gm))
        for (const [flag] of line.matchAll(/--[a-z-]+/g)) expect(table).toContain(flag);
  });

  it('print the environment variables for scripts', async () => {
    const lines = commands.flatMap(command => command.match(/^.*--env.*$/gm) ?? []);
    expect(lines.length).toBe(3);
    await using service = createService({ postsPerMinute: 60 });
    const { baseUrl, localService } = await service.start();
    const npx = `npx() { "$NODE" "$CLI" "\${@:2}"; }`;
    const env = { NODE: process.execPath, CLI: cli };
    const folder = await temporaryFolder();
    const given = lines.map(line => line.replace('8080', new URL(baseUrl).port));
    const shown = ['echo "$MILLRACE_URL $MILLRACE_LOCAL_SERVICE"', 'cat service.env'];
    const script = [npx, ...given, ...shown].join('\n');
    const { code, stdout } = await run(['bash', ...BASH_ARGS, script], folder, env);
    expect(code).toBe(0);
    expect(stdout).toContain(`${baseUrl} ${localService}\n`);
    expect(stdout).toContain(`export MILLRACE_URL='${baseUrl}'\n`);
  });

  it('succeed against the control API of a running service', async () => {
    await using service = createService();
    const { baseUrl } = await service.start();
    const lines = commands.flatMap(command => command.match(/^curl .*$/gm) ?? []);
    expect(lines.length).toBeGreaterThan(5);
    for (const line of lines) {
      const ended = await run(
        ['bash', ...BASH_ARGS, line.replace('http://127.0.0.1:8080', baseUrl)],
        root,
        {},
      );
      expect(ended, `${line}\n${ended.stderr}`).toMatchObject({ code: 0 });
    }
  });
});
