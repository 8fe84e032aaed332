import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { spawn } from '../child-processes.js';
import { compiled } from '../compiled.js';

it('a local service that starts removes the temporary files of one that was killed', async () => {
  const temporary = await mkdtemp(path.join(tmpdir(), 'millrace-test-'));
  const script = compiled(path.join(import.meta.dirname, 'service-to-kill.ts'));
  const start = async () => {
    const child = spawn(process.execPath, [script], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, TMPDIR: temporary },
    });
    await once(child.stdout, 'data');
    return child;
  };
  const left = async () =>
    (await readdir(temporary)).filter(name => name.startsWith('millrace-')).sort();
  const first = await start();
  try {
    const ofFirst = await left();
    expect(ofFirst).toHaveLength(2);
    const second = await start();
    try {
      // A running service keeps its folder.
      expect(await left()).toHaveLength(4);
      expect(await left()).toEqual(expect.arrayContaining(ofFirst));
      first.kill('SIGKILL');
      await once(first, 'close');
      const third = await start();
      const ofAll = await left();
      third.kill('SIGKILL');
      await once(third, 'close');
      expect(ofAll).toHaveLength(4);
      expect(ofAll.filter(name => ofFirst.includes(name))).toEqual([]);
    } finally {
      second.kill('SIGKILL');
    }
  } finally {
    first.kill('SIGKILL');
    await rm(temporary, { recursive: true, force: true });
  }
});
