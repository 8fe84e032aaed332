import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, expect, it } from 'vitest';
import { root } from './pages.js';
import { temporaryFolder } from './temporary-folder.js';

const exec = promisify(execFile);
const script = path.join(root, '.ci/commit-subjects.mjs');
const LONG = 'Describe a state in a sentence that is so long that nobody reads it to the end';

let folder: string;

beforeEach(async () => {
  folder = await temporaryFolder();
  await git(folder, 'init', '--quiet', '--initial-branch=main');
});

const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com'];

function git(cwd: string, ...args: readonly string[]) {
  return exec('git', [...identity, ...args], { cwd });
}

async function commit(...subjects: readonly string[]): Promise<void> {
  for (const subject of subjects)
    await git(folder, 'commit', '--quiet', '--allow-empty', '--no-verify', '-m', subject);
}

async function complaints(cwd = folder, ...args: readonly string[]): Promise<string> {
  return exec(process.execPath, [script, ...args], { cwd }).then(
    ({ stderr }) => stderr,
    (error: { stderr: string }) => error.stderr,
  );
}

it('commit-subjects refuses a long subject on a branch', async () => {
  await commit('Add a file');
  await git(folder, 'checkout', '--quiet', '-b', 'topic');
  await commit(LONG, 'Add another file');
  expect(await complaints()).toBe(
    `A commit subject has ${LONG.length} characters, and the limit is 72: ${LONG}\n`,
  );
});

it('commit-subjects ignores long subjects that are on main', async () => {
  await commit(LONG);
  await git(folder, 'checkout', '--quiet', '-b', 'topic');
  await commit('Add a file');
  expect(await complaints()).toBe('');
});

it('commit-subjects checks the commits of main that origin does not have', async () => {
  await commit(LONG);
  const clone = path.join(folder, 'clone');
  await git(folder, 'clone', '--quiet', folder, clone);
  await git(clone, 'commit', '--quiet', '--allow-empty', '-m', `${LONG}.`);
  await git(clone, 'commit', '--quiet', '--allow-empty', '-m', 'Add a file');
  expect(await complaints(clone)).toContain(`${LONG}.\n`);
  expect((await complaints(clone)).split('\n').length).toBe(2);
});

it('commit-subjects checks only the last commit of a shallow clone without main', async () => {
  await commit(LONG, 'Add a file');
  await git(folder, 'checkout', '--quiet', '-b', 'topic');
  const clone = path.join(folder, 'clone');
  await git(folder, 'clone', '--quiet', '--depth=2', `file://${folder}`, clone);
  await git(clone, 'branch', '--remotes', '--delete', 'origin/topic');
  expect(await complaints(clone)).toBe('');
  await git(clone, 'commit', '--quiet', '--allow-empty', '-m', LONG);
  expect(await complaints(clone)).toContain(LONG);
});

it.each([
  ['accepts a subject of 72 characters', `${'x'.repeat(72)}\n\n${LONG}\n`, true],
  ['refuses a subject of 73 characters', `${'x'.repeat(73)}\n`, false],
  ['refuses a subject that continues in the second line', `${'x'.repeat(70)}\nand more\n`, false],
  ['accepts a subject of 72 characters beyond ASCII', '🙂'.repeat(72), true],
  ['accepts a fixup of a subject of 72 characters', `fixup! ${'x'.repeat(72)}\n`, true],
  ['ignores a long comment of the editor', `Add a file\n# ${'x'.repeat(80)}\n`, true],
])('commit-subjects as a commit-msg hook %s', async (_, message, isAccepted) => {
  const file = path.join(folder, 'COMMIT_EDITMSG');
  await writeFile(file, message);
  expect((await complaints(folder, file)) === '').toBe(isAccepted);
});

it('the commit-msg hook refuses a commit with a long subject', async () => {
  const hooks = path.join(root, '.githooks');
  const commit = ['-c', `core.hooksPath=${hooks}`, 'commit', '--quiet', '--allow-empty', '-m'];
  await git(folder, ...commit, 'Add a file');
  await expect(git(folder, ...commit, LONG)).rejects.toThrow('the limit is 72');
});
