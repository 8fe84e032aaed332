import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { EngineThread } from '../../src/engine/thread.js';
import { temporaryFolder } from '../temporary-folder.js';

// The set-up of all tests compiles it.
const SCRIPT = new URL('../../dist/engine-worker.cjs', import.meta.url);
it('a thread ends after the commands before, and replies to each', async () => {
  const file = path.join(await temporaryFolder(), 'posts.jsonl');
  await writeFile(file, '{"id":1,"id_str":"1"}\n');
  const thread = new EngineThread(SCRIPT, { fields: { id: true, tags: false, keys: [] } });
  const task = { file, limits: { maxBytes: 1e6, maxDepth: 100 } };
  const asked = [
    thread.ask({ kind: 'decode', file: 0, task }),
    thread.ask({ kind: 'decode', file: 1, task }),
    thread.ask({ kind: 'send', file: 0 }),
  ];
  const replies = Promise.allSettled(asked);
  await thread.end();
  expect(await replies).toMatchObject([
    { value: { kind: 'decoded', file: 0 } },
    { value: { kind: 'decoded', file: 1 } },
    { value: { kind: 'sent', file: 0 } },
  ]);
  await expect(thread.ask({ kind: 'decode', file: 2, task })).rejects.toThrow('ended with code 0');
});
