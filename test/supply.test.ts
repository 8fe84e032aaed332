import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { BASH_ARGS } from './child-processes.js';
import { root } from './pages.js';
import { temporaryFolder } from './temporary-folder.js';

const exec = promisify(execFile);

interface Locked {
  readonly packages: Readonly<
    Record<string, { readonly hasInstallScript?: true; readonly dev?: true }>
  >;
}

interface Component {
  readonly name: string;
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

const isForDevelopment = (properties: Component['properties']) =>
  properties?.some(({ name }) => name === 'cdx:npm:package:development');

const text = (name: string) => readFile(path.join(root, name), 'utf8');
const lock: Locked = JSON.parse(await text('package-lock.json'));
const locked = Object.entries(lock.packages)
  .filter(([folder]) => folder !== '')
  .map(([folder, entry]) => ({ name: folder.replace(/^.*node_modules\//, ''), ...entry }));

describe('the dependencies of the package', () => {
  it('with install scripts are exactly those listed in src/README.md', async () => {
    const rows = [...(await text('src/README.md')).matchAll(/^\| `([^`]+)` \| (with|for) /gm)];
    const listed = rows.map(([, name, installed]) => [name, installed === 'for']);
    const scripts = locked
      .filter(({ hasInstallScript }) => hasInstallScript)
      .map(({ name, dev = false }) => [name, dev]);
    expect(listed.toSorted()).toEqual(scripts.toSorted());
  });

  it('with install scripts are forbidden to run them by the manifest', () => {
    const scripts = locked.filter(({ hasInstallScript }) => hasInstallScript);
    const denied = Object.fromEntries(scripts.map(({ name }) => [name, false]));
    expect(manifest.allowScripts).toEqual(denied);
  });

  it('install without a warning on this Node', async () => {
    const { stderr } = await exec('npm', ['ci', '--dry-run', '--ignore-scripts', '--offline'], {
      cwd: root,
    });
    expect(stderr).toBe('');
  });

  it('have exact versions in the manifest', () => {
    const { dependencies, devDependencies, overrides } = manifest;
    for (const version of Object.values({ ...dependencies, ...devDependencies, ...overrides }))
      expect(version).toMatch(/^(npm:(@[\w-]+\/)?[\w-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/);
  });

  it('are all in its bill of materials except those for development', async () => {
    const { stdout } = await exec('npm', ['run', '--silent', 'sbom'], {
      cwd: root,
      maxBuffer: 16 << 20,
    });
    const { components } = JSON.parse(stdout) as { readonly components: readonly Component[] };
    const installed = locked.filter(({ dev }) => dev !== true).map(({ name }) => name);
    const named = components.filter(({ properties }) => !isForDevelopment(properties));
    expect(named.map(({ name }) => name).toSorted()).toEqual(installed.toSorted());
    expect(installed).toEqual(expect.arrayContaining(Object.keys(manifest.dependencies)));
  });
});

const OFFLINE = { npm_config_offline: 'true' };
const ADVISORY = {
  id: 1,
  url: 'https://example.com/1',
  title: 'It is vulnerable',
  severity: 'high',
  vulnerable_versions: '<99.0.0',
  cwe: [],
  cvss: { score: 7, vectorString: '' },
};

function answered(advisories: object): http.RequestListener {
  return (request, response) => {
    const version = manifest.dependencies.undici;
    const about = { name: 'undici', 'dist-tags': { latest: version } };
    const known = { ...about, versions: { [version]: { name: 'undici', version } } };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(request.method === 'POST' ? advisories : known));
  };
}

describe('the release workflow', () => {
  it('publishes with provenance from a checked commit, without running scripts of dependencies', async () => {
    const workflow = await text('.github/workflows/release.yml');
    expect(workflow).toMatch(/needs: check/);
    expect(workflow).toMatch(/id-token: write/);
    expect(workflow).toMatch(/npm ci --ignore-scripts/);
    // The audit runs before anything is built.
    expect(workflow).toMatch(/npm ci .*\n(?:\s*#.*\n)*\s*- run: npm audit .*\n/);
    expect(workflow).not.toMatch(/continue-on-error|\|\||; *true/);
    expect(workflow).toMatch(/repository\.url=git\+https:.*\n.*npm pack --ignore-scripts/);
    expect(workflow).toMatch(/npm publish \S+\.tgz --provenance/);
    expect(workflow).toMatch(/npm run --silent sbom > sbom\.cdx\.json/);
    // These are the default permissions of all jobs. Only one job has more permissions.
    expect(workflow).toMatch(/^permissions:\n {2}contents: read\n/m);
    expect(workflow.match(/id-token: write/g)).toHaveLength(1);
  });

  it('signs the package in a separate job, which runs neither the build nor a dependency', async () => {
    const workflow = await text('.github/workflows/release.yml');
    const [, all = ''] = workflow.split(/^jobs:\n/m);
    const jobs = Object.fromEntries(
      [...all.matchAll(/^ {2}(\w+):\n((?: {4}.*\n)+)/gm)].map(([, name, job]) => [name, job]),
    );
    expect(Object.keys(jobs)).toEqual(['check', 'pack', 'publish']);
    const { check, pack, publish } = jobs;
    expect(pack).toMatch(/needs: check\n/);
    expect(publish).toMatch(/needs: pack\n/);
    expect(check + pack).not.toMatch(/permissions|: write/);
    expect(pack).toMatch(/npm run build/);
    expect(publish).toMatch(/id-token: write/);
    expect(publish).toMatch(/download-artifact/);
    expect(publish).not.toMatch(/checkout|npm (ci|install|i|run|pack|exec)\b|npx|bash /);
  });

  it.each<[string, exitCode: number, http.RequestListener, Readonly<Record<string, string>>?]>([
    ['the registry knows of no vulnerability', 0, answered({})],
    ['the registry knows of a vulnerability', 1, answered({ undici: [ADVISORY] })],
    ['the registry has no such address', 1, (_, response) => response.writeHead(404).end('{}')],
    ['the connection breaks', 1, request => request.socket.destroy()],
    ['the response is a page', 1, (_, response) => response.end('<html>')],
    ['npm is told to be offline', 1, (_, response) => response.writeHead(503).end(), OFFLINE],
  ])('runs an audit that, if %s, exits with %i', async (_, exitCode, listener, env) => {
    const registry = http.createServer(listener).listen(0, '127.0.0.1');
    await once(registry, 'listening');
    onTestFinished(() => {
      registry.closeAllConnections();
      registry.close();
    });
    const workflow = await text('.github/workflows/release.yml');
    const [, command = ''] = /- run: (npm audit .*)/.exec(workflow) ?? [];
    const { port } = registry.address() as AddressInfo;
    const local = command.replace('https://registry.npmjs.org/', `http://127.0.0.1:${port}/`);
    expect(local).not.toBe(command);
    const { code = 0 } = await exec('bash', [...BASH_ARGS, `${local} --fetch-retries=0`], {
      cwd: root,
      env: { ...process.env, ...env },
    }).then(
      () => ({ code: 0 }),
      (error: { readonly code: number }) => error,
    );
    expect(code).toBe(exitCode);
  });
});

describe('a GitHub workflow', async () => {
  const folder = '.github/workflows';
  const names = await readdir(path.join(root, folder));

  it.each(names)('%s pins each action to a commit, with the version in a comment', async name => {
    const uses = (await text(path.join(folder, name))).match(/^.*\buses:.*$/gm) ?? [];
    expect(uses.length).toBeGreaterThan(0);
    for (const line of uses)
      expect(line.trim()).toMatch(/^- uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  it.each(names)('%s has read permission only, and a time limit', async name => {
    const workflow = await text(path.join(folder, name));
    expect(workflow).toMatch(/^permissions:\n {2}contents: read\n/m);
    expect(workflow).toMatch(/^concurrency:\n {2}group: .*\n {2}cancel-in-progress: /m);
    const jobs = workflow.match(/^ {4}runs-on: /gm) ?? [];
    expect(workflow.match(/^ {4}timeout-minutes: /gm)).toHaveLength(jobs.length);
    // The steps after the checkout run code of the project, which needs no git credentials.
    const checkouts = workflow.match(/actions\/checkout@/g) ?? [];
    expect(workflow.match(/persist-credentials: false/g) ?? []).toHaveLength(checkouts.length);
  });

  it('for tests caches packages, but the one for releases does not', async () => {
    const [ci, nightly, release] = await Promise.all(
      ['ci', 'nightly', 'release'].map(name => text(path.join(folder, `${name}.yml`))),
    );
    for (const tests of [ci, nightly]) {
      const installs = tests?.match(/npm ci|bash \.ci\/run/g) ?? [];
      const caches = tests?.match(/actions\/cache@|cache: npm/g) ?? [];
      expect(caches).toHaveLength(installs.length);
    }
    expect(release).not.toMatch(/actions\/cache@|cache: npm/);
    const setups = release?.match(/actions\/setup-node@/g) ?? [];
    expect(release?.match(/package-manager-cache: false/g)).toHaveLength(setups.length);
  });

  describe('for nightly tests', async () => {
    const nightly = await text(path.join(folder, 'nightly.yml'));

    it('runs on a schedule', () => {
      expect(nightly).toMatch(/^ {4}- cron: /m);
    });

    it('runs the slow tests', () => {
      expect(nightly).toMatch(/npm run faults -- tests\n/);
    });

    it('runs the mutation tests', () => {
      expect(nightly).toMatch(/npm run mutants -- --sample 20 --seed /);
    });

    it('runs all faults with a new seed', () => {
      const [, parts = ''] = /npm run faults -- ([a-z ]+) --seeds 1 --seed/.exec(nightly) ?? [];
      expect(parts.split(' ')).toEqual(['matrix', 'disks', 'calls', 'jetstream', 'fuzz']);
    });

    it('runs on other operating systems', () => {
      expect(nightly).toMatch(/os: \[macos-latest, windows-latest\]/);
    });

    it('uses new random inputs, and opens an issue with the seed of a failure', () => {
      expect(nightly).toMatch(/MILLRACE_SEED=\$seed/);
      expect(nightly).toMatch(/if: \$\{\{ failure\(\) \}\}.*gh issue create/s);
    });
  });
});

describe('the release notes', () => {
  const CHANGELOG = `# Changelog

## Unreleased

- Later.

## 1.10.0 (2026-12-24)

### Added

- One thing.

## 1.1.0 (2026-11-24)

- Another.
`;

  it.each([
    ['v1.10.0', '### Added\n\n- One thing.'],
    ['v1.1.0', '- Another.'],
    ['v1.1', undefined],
    ['v1x10.0', undefined],
    ['v2.0.0', undefined],
  ])(
    'are the changelog section of the tag, or stop the release if there is none: %s',
    async (tag, notes) => {
      const folder = await temporaryFolder();
      await writeFile(path.join(folder, 'CHANGELOG.md'), CHANGELOG);
      const workflow = await text('.github/workflows/release.yml');
      const [, command = ''] = /- run: (awk .* > notes\.md .*)/.exec(workflow) ?? [];
      expect(workflow).toContain('--notes-file notes.md');
      const made = exec('bash', [...BASH_ARGS, `set -e\n${command}`], {
        cwd: folder,
        env: { ...process.env, GITHUB_REF_NAME: tag },
      }).then(async () => (await readFile(path.join(folder, 'notes.md'), 'utf8')).trim());
      if (notes === undefined) await expect(made).rejects.toMatchObject({ code: 1 });
      else expect(await made).toBe(notes);
    },
  );
});
