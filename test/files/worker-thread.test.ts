import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Worker } from 'node:worker_threads';
import { expect, it, onTestFinished, vi } from 'vitest';
import { EngineThread } from '../../src/files/worker-thread.js';
import { temporaryFolder } from '../temporary-folder.js';

// The setup of all tests compiles this file.
const SCRIPT = new URL('../../dist/engine-worker.cjs', import.meta.url);
const START = {
  decoding: { limits: { maxBytes: 1e6, maxDepth: 100 }, records: 'posts' },
  columns: [{ name: 'ids', options: undefined }],
  encodings: [],
};

it('a worker thread answers all pending calls before it ends', async () => {
  const file = path.join(await temporaryFolder(), 'posts.jsonl');
  await writeFile(file, '{"id":1,"id_str":"1"}\n');
  const thread = new EngineThread(SCRIPT, START);
  const asked = [
    thread.ask('decode', [0, file, 0]),
    thread.ask('decode', [1, file, 0]),
    thread.ask('take', [0]),
  ];
  const answers = Promise.allSettled(asked);
  await thread.end();
  expect(await answers).toMatchObject([
    { value: { decoded: { bytes: 22, bounds: { lengths: Uint32Array.of(21) } } } },
    { value: { decoded: { bytes: 22 } } },
    { value: { byteLength: 22 } },
  ]);
  await expect(thread.ask('decode', [2, file, 0])).rejects.toThrow('ended with code 0');
});

it('a worker thread leaves no timer after it has ended, so that the process can end', async () => {
  const set = vi.spyOn(globalThis, 'setTimeout');
  const cleared = vi.spyOn(globalThis, 'clearTimeout');
  onTestFinished(() => {
    set.mockRestore();
    cleared.mockRestore();
  });
  const ending = new EngineThread(SCRIPT, START).end();
  // Read before the wait, during which code of other test files may set timers.
  const timers = set.mock.results.map(({ value }) => value);
  expect(timers).toHaveLength(1);
  await ending;
  expect(cleared.mock.calls.flat()).toContain(timers[0]);
});

it('a worker thread fails and ends if its answer cannot be deserialized', async () => {
  const started = once(process, 'worker') as Promise<[Worker]>;
  const thread = new EngineThread(SCRIPT, START);
  const [worker] = await started;
  const exit = once(worker, 'exit');
  const asked = thread.ask('decode', [0, Buffer.from('{"id":1,"id_str":"1"}\n'), 0]);
  worker.emit('messageerror', new Error('unreadable'));
  await expect(asked).rejects.toThrow('unreadable');
  expect(thread.failed).toBe(true);
  await thread.end();
  // If the thread had been terminated, its exit code would be 1.
  expect(await exit).toEqual([0]);
});
