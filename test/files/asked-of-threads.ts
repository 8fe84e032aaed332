import { onTestFinished, vi } from 'vitest';
import type { ThreadCalls } from '../../src/files/thread-calls.js';
import { EngineThread } from '../../src/files/worker-thread.js';

export function askedOfThreads(): (name: keyof ThreadCalls) => number {
  const ask = vi.spyOn(EngineThread.prototype, 'ask');
  onTestFinished(() => ask.mockRestore());
  return name => ask.mock.calls.filter(([asked]) => asked === name).length;
}
