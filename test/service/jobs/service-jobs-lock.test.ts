import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { spawn } from '../../child-processes.js';
import { compiled } from '../../compiled.js';
import { temporaryFolder } from '../../temporary-folder.js';

const SCRIPT = compiled(path.join(import.meta.dirname, 'hold-job-store.ts'));

interface Holder {
  readonly child: ChildProcess;
  ask(line: string): Promise<string>;
}

async function start(folder: string): Promise<Holder> {
  const child = spawn(process.execPath, [SCRIPT, folder], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const next = async () => String((await lines.next()).value);
  expect(await next()).toBe('ready');
  return {
    child,
    ask(line) {
      child.stdin.write(`${line}\n`);
      return next();
    },
  };
}

describe('the folder of jobs', () => {
  it('is locked by exactly one of four services that start at the same time after a kill', async () => {
    const folder = await temporaryFolder();
    const services = await Promise.all(Array.from({ length: 4 }, () => start(folder)));
    for (let round = 0; round < 6; round++) {
      const killed = await start(folder);
      expect(await killed.ask('open')).toBe('opened');
      killed.child.kill('SIGKILL');
      await once(killed.child, 'close');
      const answers = await Promise.all(services.map(service => service.ask('open')));
      expect(answers.filter(answer => answer === 'opened')).toHaveLength(1);
      for (const answer of answers)
        expect(answer).toMatch(/^opened$|^refused: Another service keeps its jobs in /);
      await Promise.all(services.map(service => service.ask('close')));
    }
  });
});
