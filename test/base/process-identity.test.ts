import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { processState, thisProcess } from '../../src/base/process-identity.js';
import { spawn } from '../child-processes.js';

const only = (pid: number) => ({ ...thisProcess(), pid, started: undefined });

describe('a recorded process', () => {
  it('is alive while it runs, and dead after it has exited', async () => {
    expect(processState(thisProcess())).toBe('alive');
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    const ended = once(child, 'close');
    expect(processState(only(child.pid!))).toBe('alive');
    child.kill('SIGKILL');
    await ended;
    expect(processState(only(child.pid!))).toBe('dead');
  });

  it.runIf(process.platform === 'linux')(
    'is dead after it has exited, even if its parent process never collects its exit code',
    async () => {
      // The shell becomes `sleep` while its child still runs, and `sleep` never waits for a child.
      const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 60']);
      const [pid] = await once(parent.stdout, 'data');
      const child = only(Number(String(pid)));
      await expect.poll(() => processState(child)).toBe('dead');
      // The dead child is still in the process table, so signals still reach it.
      expect(process.kill(child.pid, 0)).toBe(true);
      parent.kill('SIGKILL');
    },
  );

  it.runIf(process.platform === 'linux')('is dead if a later process has reused its id', () => {
    expect(processState({ ...thisProcess(), started: '1' })).toBe('dead');
  });

  it('has an unknown state if it belongs to another machine, even if its id is in use here', () => {
    expect(processState({ ...thisProcess(), machine: 'another' })).toBe('unknown');
  });
});
