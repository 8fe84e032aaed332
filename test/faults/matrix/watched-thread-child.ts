import fs from 'node:fs';
import nodeModule from 'node:module';
import { fileURLToPath } from 'node:url';
import { receiveMessageOnPort, workerData } from 'node:worker_threads';
import { unchecked } from '../../unchecked.js';
import type { ThreadCall, ThreadFailure, ThreadWatch } from './watched-thread.js';

// Runs in a worker thread. First replaces the functions that write files, so that they ask the main
// thread before each write. Then runs the actual script of the thread.
const { script, port, answered } = (workerData as { readonly watch: ThreadWatch }).watch;
const mutable = unchecked<Record<string, (fd: number, ...args: unknown[]) => unknown>>(fs);
for (const call of ['writeSync', 'writevSync']) {
  const original = mutable[call] as (fd: number, ...args: unknown[]) => unknown;
  mutable[call] = (fd, ...args) => {
    ask({ call, fd });
    return original(fd, ...args);
  };
}
// This does not import `createRequire` by name, because the bundle for the processes that a test
// kills already declares that name.
nodeModule.createRequire(import.meta.url)(
  script.startsWith('file:') ? fileURLToPath(script) : script,
);

function ask(question: ThreadCall): void {
  port.postMessage(question);
  Atomics.wait(answered, 0, 0);
  Atomics.store(answered, 0, 0);
  const failure = receiveMessageOnPort(port)?.message as ThreadFailure | undefined;
  if (failure !== undefined) throw Object.assign(new Error(failure.message), failure);
}
