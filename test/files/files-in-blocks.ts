import { onTestFinished, vi } from 'vitest';
import { Plan } from '../../src/files/plan.js';

/**
 * Counts files that are not decoded as a whole, until the end of the test: the stages process them in blocks, which gives
 * the same posts and takes longer. A mistake in a column shows only here.
 */
export function filesInBlocks(): () => number {
  const postsOf = vi.spyOn(Plan.prototype, 'postsOf');
  onTestFinished(() => postsOf.mockRestore());
  return () => postsOf.mock.calls.length;
}
