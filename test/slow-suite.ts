/** Whether the tests run with their full counts: `npm run faults -- tests`. */
export const isSlowSuite = process.env.MILLRACE_SLOW !== undefined;

/** How often a test tries something, in the normal suite and in the slow one. */
export function bySuite(normal: number, slow: number): number {
  return isSlowSuite ? slow : normal;
}
