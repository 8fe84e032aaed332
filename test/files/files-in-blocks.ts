import { onTestFinished, vi } from 'vitest';
import { Plan } from '../../src/files/plan.js';

/**
 * Counts the files that are processed in blocks instead of as a whole, until the test ends.
 * Processing in blocks gives the same posts but takes longer, so only this count shows it.
 */
export function filesInBlocks(): () => number {
  const postsOf = vi.spyOn(Plan.prototype, 'postsOf');
  onTestFinished(() => postsOf.mockRestore());
  return () => postsOf.mock.calls.length;
}
