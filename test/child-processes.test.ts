import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { BASH_ARGS, endChildren, outputOf, spawn } from './child-processes.js';
import { temporaryFolder } from './temporary-folder.js';

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A process that has ended stays in the process table until its parent reads its exit code.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

it.skipIf(process.platform !== 'linux')(
  'killing a child process kills every process that it has started',
  async () => {
    const child = spawn('bash', [...BASH_ARGS, 'sleep 1000 & echo $!; wait']);
    const text = await new Promise(resolve => child.stdout.once('data', resolve));
    const pids = [child.pid as number, Number(String(text))];
    expect(pids.map(isRunning)).toEqual([true, true]);
    endChildren();
    await vi.waitFor(() => expect(pids.map(isRunning)).toEqual([false, false]), {
      timeout: 60_000,
    });
  },
);

it.skipIf(process.platform !== 'linux')(
  'a child process ends when the script that started it is stopped by a signal',
  async () => {
    const script = spawn(
      process.execPath,
      [
        ...['--import', 'tsx', '--input-type=module', '-e'],
        `import { spawn } from ${JSON.stringify(path.join(import.meta.dirname, 'child-processes.ts'))};
         console.log(spawn('sleep', ['1000'], {}).pid);`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const pid = Number(await new Promise(resolve => script.stdout.once('data', resolve)));
    expect(isRunning(pid)).toBe(true);
    script.kill('SIGTERM');
    await vi.waitFor(() => expect(isRunning(pid)).toBe(false), { timeout: 60_000 });
  },
);

it('a child process that has ended or never started is not killed', async () => {
  const child = spawn(process.execPath, ['-e', '']);
  await new Promise(resolve => child.once('exit', resolve));
  spawn('/no/such/command', []).once('error', () => {});
  expect(endChildren).not.toThrow();
});

it('every test starts its processes with test/child-processes.ts', () => {
  const own = import.meta.dirname;
  const others = readdirSync(own, { withFileTypes: true, recursive: true })
    .filter(
      entry => entry.isFile() && entry.name.endsWith('.ts') && entry.name !== 'child-processes.ts',
    )
    .map(entry => path.join(entry.parentPath, entry.name))
    .filter(file =>
      /import \{[^}]*\b(spawn|fork)\b[^}]*\} from 'node:child_process'/.test(
        readFileSync(file, 'utf8'),
      ),
    );
  expect(others).toEqual([]);
});

it.skipIf(process.platform !== 'linux')(
  'a script of bash does not read ~/.bashrc, even if its standard input is a socket',
  async () => {
    const home = await temporaryFolder();
    await writeFile(path.join(home, '.bashrc'), 'echo from .bashrc >&2');
    const child = spawn('bash', [...BASH_ARGS, 'echo done'], {
      env: { PATH: process.env.PATH, HOME: home },
    });
    const ended = await outputOf(child);
    expect(ended).toMatchObject({ stdout: 'done\n', stderr: '' });
  },
);
