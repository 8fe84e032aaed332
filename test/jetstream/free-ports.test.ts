import { once } from 'node:events';
import path from 'node:path';
import { expect, it } from 'vitest';
import { spawn } from '../child-processes.js';
import { compiled } from '../compiled.js';
import { freePorts } from './free-ports.js';

// Found because the port of a restarted node was in use.
it('concurrent processes never get the same free port', async () => {
  const script = compiled(path.join(import.meta.dirname, 'free-ports-child.ts'));
  const own = await freePorts(150);
  const children = Array.from({ length: 4 }, () => spawn(process.execPath, [script, '150']));
  const others = await Promise.all(
    children.map(async child => {
      const [line] = await once(child.stdout, 'data');
      return JSON.parse(String(line)) as number[];
    }),
  );
  for (const child of children) child.stdin.end();
  expect(new Set([own, ...others].flat()).size).toBe(5 * 150);
});
